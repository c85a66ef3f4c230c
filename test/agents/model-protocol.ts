import type { JsonObject } from "./json.ts";

/** A tool that the model asks for. A text as input is for tools that take free text instead of an object. */
export interface ToolCall {
  readonly name: string;
  readonly input: JsonObject | string;
}

/** What the model says: tools to call, or (with none) a last word. `first` numbers the calls of a conversation. */
export interface ModelReply {
  readonly calls: readonly ToolCall[];
  readonly text: string;
  readonly first: number;
}

/** A request to the model, as it came over the wire. */
export interface ModelRequest {
  /** The path with its query. */
  readonly path: string;
  readonly body: JsonObject;
}

export interface ModelAnswer {
  readonly type: "application/json" | "text/event-stream";
  readonly body: string;
}

/** The wire format of one maker of models. Pure: it reads requests and writes answers. */
export interface ModelProtocol {
  /** What the tools have answered so far; `undefined`: a request on the side, without tools (a title, a routing). */
  results(request: ModelRequest): readonly string[] | undefined;
  /** The whole answer to a request for the next message. */
  answer(reply: ModelReply, request: ModelRequest): ModelAnswer;
  /** The answer to anything else (models, counting); `undefined`: not known, 404. */
  other(request: ModelRequest): ModelAnswer | undefined;
}

/** The id that the scripted model gives to its n-th call, counted from 0. */
export function callId(n: number): string {
  return `call_${String(n).padStart(4, "0")}`;
}

/** Server-sent events: `[name, data]`; without a name only the data. */
export function eventStream(events: readonly (readonly [string | undefined, JsonObject])[]): ModelAnswer {
  const lines = events.map(
    ([name, data]) => `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`,
  );
  return { type: "text/event-stream", body: lines.join("") };
}

export function jsonAnswer(body: JsonObject): ModelAnswer {
  return { type: "application/json", body: JSON.stringify(body) };
}
