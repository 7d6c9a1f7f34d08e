"""Chat templates in our own words, one for each way of writing conversations and calls that is read."""

from __future__ import annotations

from typing import Final

__all__ = ["CHATML", "HERMES", "LLAMA3", "MISTRAL", "NO_SYSTEM", "PLAIN_TEXT_ARGUMENTS"]

CHATML: Final = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""Knows no tools."""

HERMES: Final = """\
{%- if tools %}
<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}
{% endif %}
Tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}
Call one as <tool_call>{"name": ..., "arguments": ...}</tool_call>.<|im_end|>
{% endif %}
{% for message in messages %}
{% if message.role == 'tool' %}
<|im_start|>user
<tool_response>{{ message.content }}</tool_response><|im_end|>
{% elif message.role == 'assistant' %}
<|im_start|>assistant
{{ message.content }}
{%- for call in message.tool_calls %}

<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif not (loop.first and tools and message.role == 'system') %}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% endif %}"""

LLAMA3: Final = """\
{{ bos_token }}
{%- for message in messages %}
{{- '<|start|>' + message.role + '<|end|>\n\n' }}
{%- if loop.last or loop.first %}
{%- if tools and message.role == 'user' %}
{{- 'Functions: ' }}{%- for tool in tools %}{{ tool.function | tojson }}{% endfor %}{{ '\n\n' }}
{%- endif %}
{%- endif %}
{%- if message.tool_calls %}
{%- if message.tool_calls | length != 1 %}{{ raise_exception('one call at a time') }}{% endif %}
{%- set call = message.tool_calls[0].function %}
{{- '{"name": "' + call.name + '", "parameters": ' }}{{ call.arguments | tojson }}{{ '}' }}
{%- else %}
{{- message.content }}
{%- endif %}
{{- '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant<|end|>\n\n' }}{% endif %}"""

MISTRAL: Final = """\
{%- set users = messages | selectattr('role', 'equalto', 'user') | list %}
{%- set talk = messages[1:] if messages[0].role == 'system' else messages %}
{%- for message in talk | rejectattr('role', 'equalto', 'tool') | rejectattr('tool_calls', 'defined') %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in talk %}
{%- if message.role == 'user' %}
{%- if tools and message == users[-1] %}
{{- '[AVAILABLE_TOOLS]' }}{{ tools | tojson }}{{ '[/AVAILABLE_TOOLS]' }}
{%- endif %}
{{- '[INST]' }}
{%- if loop.first and messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}
{{- message.content + '[/INST]' }}
{%- elif message.tool_calls is defined %}
{{- '[TOOL_CALLS][' }}
{%- for call in message.tool_calls %}
{%- if call.id | length != 9 %}{{ raise_exception('ids have nine characters') }}{% endif %}
{{- '{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}
{{- ', "id": "' + call.id + '"}' }}{{ ', ' if not loop.last }}
{%- endfor %}
{{- ']' + eos_token }}
{%- elif message.role == 'tool' %}
{{- '[TOOL_RESULTS]' + message.content + '[/TOOL_RESULTS]' }}
{%- else %}
{{- message.content + eos_token }}
{%- endif %}
{%- endfor %}"""
"""Roles alternate, a late system message has no place, ids have nine characters."""

NO_SYSTEM: Final = """\
{{ bos_token }}
{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}
{{- '<turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' + message.content | trim }}
{{- '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<turn>model\n' }}{% endif %}"""

PLAIN_TEXT_ARGUMENTS: Final = """\
{%- if tools %}{% for tool in tools %}{{ tool.function.name }}
{% endfor %}{% endif %}
{% for message in messages %}
<|{{ message.role }}|>
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>{{ '{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments }}}</tool_call>
{%- endfor %}</s>
{% endfor %}
{% if add_generation_prompt %}
<|assistant|>
{% endif %}"""
"""Joins the argument text itself into the call."""
