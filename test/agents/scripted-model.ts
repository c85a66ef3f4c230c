import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { asObject, type JsonObject } from "./json.ts";
import type { ModelProtocol, ModelReply, ModelRequest, ToolCall } from "./model-protocol.ts";

/** One answer of the model: the calls of it, or how to find them in what the tools have answered before. */
export type ScriptLine = readonly ToolCall[] | ((results: readonly string[]) => readonly ToolCall[]);

/** A script that decides by the whole request: what the tools have answered, and the body as JSON. */
export type Script = readonly ScriptLine[] | ((results: readonly string[], body: string) => ModelReply);

/** Matches the result of a tool in a request, in each protocol. */
const TOOL_RESULT = /"(?:tool_result|functionResponse|custom_tool_call_output|function_call_output)"|"role":"tool"/;

/**
 * Returns a script that answers each prompt with one call of a tool, and its result with a last word. What counts is
 * what follows the last prompt, because an agent may forget prompts, and may send earlier results twice.
 */
export function scriptOfPrompts(answers: readonly (readonly [prompt: string, call: ToolCall])[]): Script {
  return (_, body) => {
    const asked = answers.map(([prompt, call], first) => ({ at: body.lastIndexOf(prompt), call, first, prompt }));
    const last = asked.toSorted((a, b) => a.at - b.at).at(-1);
    if (last === undefined || last.at < 0) throw new Error(`no prompt of the script is in ${body}`);
    const { call, first, prompt } = last;
    return TOOL_RESULT.test(body.slice(last.at))
      ? { calls: [], text: `Done: ${prompt}`, first }
      : { calls: [call], text: "I do it.", first };
  };
}

/**
 * A model that follows a script, on a free port of 127.0.0.1. It keeps no state: which line comes next follows from how
 * many tool results a request holds, so that a request sent twice gets the same answer twice.
 */
export class ScriptedModel implements AsyncDisposable {
  readonly #protocol: ModelProtocol;
  readonly #script: Script;
  readonly #server: Server;
  readonly #results: string[] = [];
  readonly #requests: string[] = [];
  readonly #turns: string[] = [];
  readonly #failure = Promise.withResolvers<never>();

  private constructor(protocol: ModelProtocol, script: Script) {
    this.#protocol = protocol;
    this.#script = script;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.writeHead(400).end();
        this.#failure.reject(error);
      });
    });
  }

  static async start(protocol: ModelProtocol, script: Script): Promise<ScriptedModel> {
    const model = new ScriptedModel(protocol, script);
    await new Promise<void>((done) => model.#server.listen(0, "127.0.0.1", done));
    return model;
  }

  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the scripted model does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Rejects when the script itself fails. */
  get failure(): Promise<never> {
    return this.#failure.promise;
  }

  /** What the tools have answered, in the order of the calls. */
  get results(): readonly string[] {
    return this.#results;
  }

  /** The bodies of all requests, as JSON. */
  get requests(): readonly string[] {
    return this.#requests;
  }

  /** The bodies of the requests for the next message of the conversation, as JSON. */
  get turns(): readonly string[] {
    return this.#turns;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request: ModelRequest = { path: incoming.url ?? "/", body: await readJson(incoming) };
    this.#requests.push(JSON.stringify(request.body));
    const results = this.#protocol.results(request);
    if (results !== undefined) {
      this.#results.splice(0, Infinity, ...results);
      this.#turns.push(JSON.stringify(request.body));
    }
    const answer =
      results === undefined
        ? this.#protocol.other(request)
        : this.#protocol.answer(this.#next(results, request), request);
    if (answer === undefined) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"not in the script"}}');
    } else response.writeHead(200, { "content-type": answer.type }).end(answer.body);
  }

  #next(results: readonly string[], { body }: ModelRequest): ModelReply {
    if (typeof this.#script === "function") return this.#script(results, JSON.stringify(body));
    let first = 0;
    for (const line of this.#script) {
      const calls = typeof line === "function" ? line(results.slice(0, first)) : line;
      if (first === results.length) return { calls, text: `Call ${first}.`, first };
      first += calls.length;
    }
    return { calls: [], text: "All done.", first: results.length };
  }
}

async function readJson(incoming: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? {} : asObject(JSON.parse(text));
}
