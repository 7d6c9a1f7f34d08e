"""The genome session: tools that are pure functions of session and genome, really executed."""
