// What a chat template can do, found by rendering small conversations and looking for their words
// in the result. A pure function of the template; made once, when a model is loaded.
#pragma once

#include "chat/template.h"

namespace tonnage::chat {

struct Capabilities {
  bool system_role = false;     // a system message reaches the prompt
  bool tools = false;           // the tools' declarations reach the prompt
  bool tool_calls = false;      // an assistant's earlier tool calls reach the prompt
  bool tool_responses = false;  // a message of role `tool` reaches the prompt
  bool content_parts =
      false;  // content given as a list of {"type": "text"} parts reaches the prompt
  bool reasoning_content =
      false;  // `reasoning_content` of an assistant's last turn reaches the prompt
  bool thinking_switch = false;    // `enable_thinking` changes the prompt
  bool generation_prompt = false;  // `add_generation_prompt` changes the prompt
};

Capabilities DetectCapabilities(const Template& chat_template);

}  // namespace tonnage::chat
