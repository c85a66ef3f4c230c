import { asObject, asObjects, textsOf, type JsonObject } from "./json.ts";
import { eventStream, jsonAnswer, type ModelAnswer, type ModelProtocol, type ModelRequest } from "./model-protocol.ts";

const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };

/** Questions on the side want an object back: which model to use, who speaks next. */
const sideAnswer = JSON.stringify({
  complexity_reasoning: "-",
  complexity_score: 1,
  model_choice: "flash",
  reasoning: "-",
  next_speaker: "user",
});

function message(parts: readonly JsonObject[], request: ModelRequest): ModelAnswer {
  const candidate = { content: { role: "model", parts }, finishReason: "STOP", index: 0 };
  const body = { candidates: [candidate], usageMetadata, modelVersion: "scripted" };
  return request.path.includes("alt=sse") ? eventStream([[undefined, body]]) : jsonAnswer(body);
}

/** Google's generateContent and streamGenerateContent. Calls have no ids there. */
export const geminiProtocol: ModelProtocol = {
  results({ path, body }) {
    if (!path.includes("enerateContent") || asObjects(body["tools"]).length === 0) return undefined;
    return asObjects(body["contents"])
      .flatMap((content) => asObjects(content["parts"]))
      .filter((part) => part["functionResponse"] !== undefined)
      .map((part) => textsOf(asObject(part["functionResponse"])["response"]));
  },

  answer(reply, request) {
    const calls = reply.calls.map(({ name, input }) => ({ functionCall: { name, args: input } }));
    return message(calls.length > 0 ? calls : [{ text: reply.text }], request);
  },

  other(request) {
    if (request.path.includes("countTokens")) return jsonAnswer({ totalTokens: 1 });
    return request.path.includes("enerateContent") ? message([{ text: sideAnswer }], request) : undefined;
  },
};
