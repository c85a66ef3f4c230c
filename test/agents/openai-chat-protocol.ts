import { asObjects, textsOf, type JsonObject } from "./json.ts";
import { callId, eventStream, jsonAnswer, type ModelProtocol, type ModelReply } from "./model-protocol.ts";

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

function deltaOf({ calls, text, first }: ModelReply): JsonObject {
  if (calls.length === 0) return { role: "assistant", content: text };
  const tool_calls = calls.map(({ name, input }, index) => ({
    index,
    id: callId(first + index),
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  return { role: "assistant", content: null, tool_calls };
}

/** OpenAI's Chat Completions, as a stream. */
export const openaiChatProtocol: ModelProtocol = {
  results({ path, body }) {
    if (!path.includes("/chat/completions") || asObjects(body["tools"]).length === 0) return undefined;
    return asObjects(body["messages"])
      .filter((message) => message["role"] === "tool")
      .map((message) => textsOf(message["content"]));
  },

  answer(reply, { body }) {
    const chunk = (choice: JsonObject, more: JsonObject = {}): [undefined, JsonObject] => [
      undefined,
      {
        id: `chat_${reply.first}`,
        object: "chat.completion.chunk",
        created: 1,
        model: body["model"],
        choices: [{ index: 0, ...choice }],
        ...more,
      },
    ];
    const finish_reason = reply.calls.length > 0 ? "tool_calls" : "stop";
    const { type, body: events } = eventStream([
      chunk({ delta: deltaOf(reply), finish_reason: null }),
      chunk({ delta: {}, finish_reason }, { usage }),
    ]);
    return { type, body: `${events}data: [DONE]\n\n` };
  },

  other(request) {
    if (request.path.includes("/models")) return jsonAnswer({ object: "list", data: [] });
    // A request without tools is for the title of the conversation.
    return request.path.includes("/chat/completions")
      ? this.answer({ calls: [], text: "A title", first: 0 }, request)
      : undefined;
  },
};
