import { asObjects, textsOf, type JsonObject } from "./json.ts";
import { callId, eventStream, jsonAnswer, type ModelProtocol, type ModelReply } from "./model-protocol.ts";

const usage = {
  input_tokens: 1,
  input_tokens_details: null,
  output_tokens: 1,
  output_tokens_details: null,
  total_tokens: 2,
};

function itemsOf(reply: ModelReply): JsonObject[] {
  if (reply.calls.length === 0) {
    const content = [{ type: "output_text", text: reply.text }];
    return [{ type: "message", id: `message_${reply.first}`, role: "assistant", content }];
  }
  return reply.calls.map(({ name, input }, i) => {
    const id = callId(reply.first + i);
    return typeof input === "string"
      ? { type: "custom_tool_call", id: `item_${id}`, call_id: id, name, input }
      : { type: "function_call", id: `item_${id}`, call_id: id, name, arguments: JSON.stringify(input) };
  });
}

/** True for Codex's request for the title of a conversation. It has tools, but is no part of the conversation. */
function isForTitle(body: JsonObject): boolean {
  return textsOf(body["input"]).includes("Generate a concise, single-line task title");
}

/** OpenAI's Responses, as a stream. */
export const openaiProtocol: ModelProtocol = {
  results({ path, body }) {
    if (!path.includes("/responses") || asObjects(body["tools"]).length === 0 || isForTitle(body)) return undefined;
    return asObjects(body["input"])
      .filter((item) => String(item["type"]).endsWith("_output"))
      .map((item) => textsOf(item["output"]));
  },

  answer(reply) {
    const id = `response_${reply.first}`;
    const items = itemsOf(reply).flatMap((item, output_index): [string, JsonObject][] => [
      ["response.output_item.added", { type: "response.output_item.added", output_index, item }],
      ["response.output_item.done", { type: "response.output_item.done", output_index, item }],
    ]);
    return eventStream([
      ["response.created", { type: "response.created", response: { id } }],
      ...items,
      ["response.completed", { type: "response.completed", response: { id, usage } }],
    ]);
  },

  other(request) {
    const { path, body } = request;
    if (path.includes("/responses") && isForTitle(body))
      return this.answer({ calls: [], text: "A title", first: 0 }, request);
    return path.includes("/models") ? jsonAnswer({ object: "list", data: [], models: [] }) : undefined;
  },
};
