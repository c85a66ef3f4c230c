import { asObjects, textsOf, type JsonObject } from "./json.ts";
import { callId, eventStream, jsonAnswer, type ModelProtocol, type ModelReply } from "./model-protocol.ts";

const usage = { input_tokens: 1, output_tokens: 1 };

function contentOf(reply: ModelReply): JsonObject[] {
  const calls = reply.calls.map((call, i) => {
    return { type: "tool_use", id: callId(reply.first + i), name: call.name, input: call.input };
  });
  return [{ type: "text", text: reply.text }, ...calls];
}

function blockEvents(block: JsonObject, index: number): [string, JsonObject][] {
  const isText = block["type"] === "text";
  const empty = isText ? { ...block, text: "" } : { ...block, input: {} };
  const delta = isText
    ? { type: "text_delta", text: block["text"] }
    : { type: "input_json_delta", partial_json: JSON.stringify(block["input"]) };
  return [
    ["content_block_start", { type: "content_block_start", index, content_block: empty }],
    ["content_block_delta", { type: "content_block_delta", index, delta }],
    ["content_block_stop", { type: "content_block_stop", index }],
  ];
}

/** Anthropic's Messages, plain and as a stream. */
export const anthropicProtocol: ModelProtocol = {
  results({ path, body }) {
    if (!path.startsWith("/v1/messages") || path.includes("count_tokens") || asObjects(body["tools"]).length === 0)
      return undefined;
    return asObjects(body["messages"])
      .flatMap((message) => asObjects(message["content"]))
      .filter((part) => part["type"] === "tool_result")
      .map((part) => textsOf(part["content"]));
  },

  answer(reply, { body }) {
    const content = contentOf(reply);
    const end = { stop_reason: reply.calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null };
    const message = { id: `msg_${reply.first}`, type: "message", role: "assistant", model: body["model"], usage };
    if (body["stream"] !== true) return jsonAnswer({ ...message, content, ...end });
    const start = { ...message, content: [], stop_reason: null, stop_sequence: null };
    return eventStream([
      ["message_start", { type: "message_start", message: start }],
      ...content.flatMap(blockEvents),
      ["message_delta", { type: "message_delta", delta: end, usage: { output_tokens: 1 } }],
      ["message_stop", { type: "message_stop" }],
    ]);
  },

  other({ path }) {
    return path.includes("count_tokens") ? jsonAnswer({ input_tokens: 1 }) : undefined;
  },
};
