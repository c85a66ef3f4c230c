import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { TOOLS } from "../../src/mcp/make-server.ts";
import type { Readable, Writable } from "node:stream";
import type { CallToolResult } from "@modelcontextprotocol/server";

/** A JSON-RPC message from the server. */
interface Message {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The parts of a tool's answer that tests read. */
export interface ToolAnswer {
  readonly text: string;
  readonly data: Record<string, unknown>;
  readonly isError: boolean;
}

interface ClientOptions {
  readonly name?: string;
  /** The folders to report to the server, as URIs. */
  readonly roots?: readonly string[];
}

/** A small MCP client on two streams, with one JSON message a line. `lines` has everything that the server wrote. */
export class McpClient {
  readonly lines: string[] = [];
  readonly #write: Writable;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #options: ClientOptions;
  #rest = "";
  #next = 1;

  constructor(write: Writable, read: Readable, options: ClientOptions = {}) {
    this.#write = write;
    this.#options = options;
    read.setEncoding("utf8");
    read.on("data", (text: string) => this.#onText(text));
  }

  /** Performs the handshake of the protocol revisions before 2026-07-28. Returns the answer of the server. */
  async initialize(): Promise<Record<string, unknown>> {
    const { name = "test-client", roots } = this.#options;
    const { result } = await this.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: roots === undefined ? {} : { roots: {} },
      clientInfo: { name, version: "1.0.0" },
    });
    this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return result as Record<string, unknown>;
  }

  request(method: string, params: object = {}): Promise<Message> {
    const id = this.#next;
    this.#next += 1;
    const answered = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.send({ jsonrpc: "2.0", id, method, params });
    return answered;
  }

  async call(name: string, args: object = {}): Promise<ToolAnswer> {
    const { result, error } = await this.request("tools/call", { name, arguments: args });
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
    mustFit(name, result as CallToolResult);
    return toolAnswer(result as CallToolResult);
  }

  send(message: object): void {
    this.#write.write(`${JSON.stringify(message)}\n`);
  }

  #onText(text: string): void {
    const parts = (this.#rest + text).split("\n");
    this.#rest = parts.pop() ?? "";
    for (const line of parts) {
      this.lines.push(line);
      this.#onMessage(JSON.parse(line) as Message);
    }
  }

  #onMessage(message: Message): void {
    if (message.method === "roots/list") {
      const roots = (this.#options.roots ?? []).map((uri) => ({ uri }));
      this.send({ jsonrpc: "2.0", id: message.id, result: { roots } });
    } else if (typeof message.id === "number") {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    }
  }
}

/** Returns the parts of a tool's result that tests read. */
export function toolAnswer(result: CallToolResult): ToolAnswer {
  const text = result.content.map((one) => (one.type === "text" ? one.text : "")).join("\n");
  const data = (result.structuredContent ?? {}) as Record<string, unknown>;
  return { text, data, isError: result.isError === true };
}

const validators = new AjvJsonSchemaValidator();

/**
 * Returns the reason why a value does not fit a schema; `undefined` if it fits. The check is that of the protocol's own
 * library.
 */
export function misfit(schema: object, value: unknown): string | undefined {
  return validators.getValidator(schema)(value).errorMessage;
}

/** Throws if the structured content of an answer does not fit the output schema of the tool. */
function mustFit(name: string, { structuredContent }: CallToolResult): void {
  const tool = TOOLS.find((one) => one.name === name);
  const found = tool === undefined ? undefined : misfit(tool.outputSchema, structuredContent);
  if (found !== undefined) throw new Error(`the answer of ${name} does not fit its output schema: ${found}`);
}
