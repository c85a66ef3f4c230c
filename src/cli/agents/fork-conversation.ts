import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { ChronicleError } from "../../core/values/errors.ts";
import { printable } from "../../process/printable.ts";

/** A prompt in a conversation. Both ids are those that the agent itself uses. */
interface PromptIds {
  readonly session: string;
  readonly turn: string;
}

/** The folder and environment in which an agent's program runs. */
interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Makes a copy of a conversation that ends before a prompt. Returns the command line that opens the copy. */
type Fork = (prompt: PromptIds, place: Place) => Promise<readonly string[]>;

/**
 * Maps the name of each agent whose program can copy a conversation to the function that makes the copy. This was tried
 * with Codex 0.169 and opencode 1.18.
 */
const FORKS: ReadonlyMap<string, Fork> = new Map([
  ["codex", forkInCodex],
  ["opencode", forkInOpencode],
]);

/**
 * Returns the function that copies a conversation of this agent; `undefined` if the agent's program cannot copy
 * conversations.
 */
export function forkOf(actor: string): Fork | undefined {
  return FORKS.get(actor);
}

/**
 * The maximum time, in ms, from the start of the agent's program to its last answer. On a busy machine, opencode may
 * take half a minute only to start.
 */
const MOST_MS = 180_000;

/** A running program that writes lines. Disposing of the object ends the program. */
class AgentProcess implements Disposable {
  readonly #name: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  readonly #failed = Promise.withResolvers<never>();
  readonly #timer: NodeJS.Timeout;
  #told = "";

  constructor(name: string, args: readonly string[], { env, cwd }: Place) {
    this.#name = name;
    this.#child = spawn(name, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
    this.#failed.promise.catch(() => undefined);
    this.#child.on("error", (error: NodeJS.ErrnoException) => this.#failed.reject(this.#startError(error)));
    this.#child.stdin.on("error", () => undefined); // If the program ends, `line` notices it.
    this.#child.stderr.on("data", (chunk: Buffer) => (this.#told = (this.#told + chunk.toString("utf8")).slice(-500)));
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.#timer = setTimeout(() => this.#failed.reject(this.failure("it does not answer")), MOST_MS);
  }

  /** Returns the next line of the output. Throws `UNAVAILABLE` if the program ends or does not answer. */
  async line(): Promise<string> {
    const { done, value } = await Promise.race([this.#lines.next(), this.#failed.promise]);
    if (done === true) throw this.failure(this.#told.trim() || "it has ended");
    return value;
  }

  /** Writes one line. */
  send(message: JsonObject): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Returns the error for a conversation that could not be copied. `why`: the reason. */
  failure(why: string): ChronicleError {
    return new ChronicleError("UNAVAILABLE", `${this.#name} did not copy the conversation: ${printable(why)}`, {
      hint: "nothing was changed; without --conversation, rewind says how you do it yourself",
    });
  }

  #startError(error: NodeJS.ErrnoException): ChronicleError {
    return this.failure(error.code === "ENOENT" ? "the program was not found in $PATH" : error.message);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#child.kill();
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
  }
}

function objectAt(value: unknown, ...keys: readonly string[]): JsonObject {
  const at = keys.reduce<unknown>((object, key) => (object as JsonObject | undefined)?.[key], value);
  return typeof at === "object" && at !== null ? (at as JsonObject) : {};
}

function textAt(value: unknown, key: string): string | undefined {
  const text = objectAt(value)[key];
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** Calls of `codex app-server`: JSON-RPC, one message on each line. */
class CodexServer {
  readonly #process: AgentProcess;
  #calls = 0;

  constructor(process: AgentProcess) {
    this.#process = process;
  }

  async call(method: string, params: JsonObject): Promise<JsonObject> {
    this.#calls += 1;
    const id = this.#calls;
    this.#process.send({ id, method, params });
    for (;;) {
      const message = parsed(await this.#process.line());
      if (message["id"] !== id || message["method"] !== undefined) continue;
      const error = textAt(message["error"], "message");
      if (error !== undefined) throw this.#process.failure(error);
      return objectAt(message["result"]);
    }
  }

  /** Returns the turn before the turn of a prompt; `undefined` if the prompt began the first turn. */
  async turnBefore({ session, turn }: PromptIds): Promise<string | undefined> {
    let found = false;
    let cursor: string | undefined;
    do {
      const params = {
        threadId: session,
        sortDirection: "desc",
        limit: 100,
        ...(cursor === undefined ? {} : { cursor }),
      };
      const page = await this.call("thread/turns/list", params);
      for (const one of Array.isArray(page["data"]) ? page["data"] : []) {
        const id = textAt(one, "id");
        if (found) return id;
        found = id === turn;
      }
      cursor = textAt(page, "nextCursor");
    } while (cursor !== undefined);
    if (found) return undefined;
    throw this.#process.failure("the prompt is no longer in it");
  }
}

function parsed(line: string): JsonObject {
  try {
    return objectAt(JSON.parse(line));
  } catch {
    return {}; // The line is no message, so it is ignored.
  }
}

async function forkInCodex(prompt: PromptIds, place: Place): Promise<readonly string[]> {
  using program = new AgentProcess("codex", ["app-server"], place);
  const server = new CodexServer(program);
  await server.call("initialize", { clientInfo: { name: "chronicle", title: "Chronicle", version: "1" } });
  program.send({ method: "initialized" });
  const lastTurnId = await server.turnBefore(prompt);
  if (lastTurnId === undefined) return ["codex"];
  const { thread } = await server.call("thread/fork", { threadId: prompt.session, lastTurnId, excludeTurns: true });
  const id = textAt(thread, "id");
  if (id === undefined) throw program.failure("its answer names no conversation");
  return ["codex", "resume", id];
}

async function forkInOpencode({ session, turn }: PromptIds, place: Place): Promise<readonly string[]> {
  using program = new AgentProcess("opencode", ["serve", "--hostname", "127.0.0.1", "--port", "0"], place);
  let url: string | undefined;
  while (url === undefined) url = /listening on (http:\S+)/.exec(await program.line())?.[1];
  const { OPENCODE_SERVER_USERNAME: user = "opencode", OPENCODE_SERVER_PASSWORD: password = "" } = place.env;
  const login = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const headers = { "content-type": "application/json", ...(password === "" ? {} : { authorization: login }) };
  const call = async (path: string, init: RequestInit): Promise<JsonObject> => {
    const response = await fetch(new URL(path, url), { ...init, headers, signal: AbortSignal.timeout(MOST_MS) });
    const text = await response.text();
    if (!response.ok) throw program.failure(`${response.status} ${text.slice(0, 200)}`);
    return parsed(text);
  };
  const at = `/session/${encodeURIComponent(session)}`;
  const directory = textAt(await call(at, { method: "GET" }), "directory") ?? place.cwd;
  const body = JSON.stringify({ messageID: turn });
  const id = textAt(
    await call(`${at}/fork?${String(new URLSearchParams({ directory }))}`, { method: "POST", body }),
    "id",
  );
  if (id === undefined) throw program.failure("its answer names no conversation");
  return ["opencode", "--session", id];
}
