/**
 * Every tool's answer is short, with short ids and without hashes, however large the history is. The tests loop over the
 * table of tools, so that a new tool is held to this, too.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TOOLS } from "../../src/mcp/make-server.ts";
import type { ToolAnswer } from "../helpers/mcp-client.ts";
import { McpProject } from "../helpers/mcp-project.ts";

const FILES = 80;
const ACTIONS = 20;
const SESSION = randomUUID();
const FOLDER = `${"a-folder-with-a-long-name/".repeat(5)}`;
const LINES = Array.from({ length: 400 }, (_, i) => `line ${i} of a file that is long enough to be cut`).join("\n");
const FULL_ID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b|\b[\da-f]{40}\b|\b[\da-f]{64}\b/;

const pathOf = (i: number): string => `${FOLDER}a-file-with-a-rather-long-name-${i}.txt`;

let mcp: McpProject;

/** Records many actions of an agent, each of which changes many files. */
async function work(actions = ACTIONS): Promise<void> {
  const workspace = await mcp.project.open();
  for (let i = 0; i < actions; i += 1) {
    const paths = Array.from({ length: 25 }, (_, at) => pathOf((i * 5 + at) % FILES));
    if (i % 10 === 0) turns.push(randomUUID());
    const turn = turns.at(-1) ?? "";
    const request = { type: "run_command", payload: { command: `format ${i}` }, session: SESSION, turn };
    await workspace.action({ ...request, toolCall: `toolu_${i}` }, (snapshot) => {
      for (const path of paths) mcp.project.write(path, `${LINES}\nedit ${i}\n`);
      return snapshot;
    });
  }
  await workspace.close();
}

const turns: string[] = [];

beforeAll(async () => {
  mcp = await McpProject.start((project) => {
    for (let i = 0; i < FILES; i += 1) project.write(pathOf(i), `${LINES}\n`);
    project.write("bytes.bin", Buffer.alloc(50_000, 255));
  });
  await work();
}, 60_000);

afterAll(() => mcp[Symbol.asyncDispose]());

type Args = Readonly<Record<string, unknown>>;

/** Returns the short id of the newest action that is not undone. */
async function newestAction(): Promise<string> {
  const { data } = await mcp.client.call("list_actions");
  return (data["actions"] as { id: string; undone: boolean }[]).find((one) => !one.undone)?.id ?? "";
}

async function firstOf(tool: string, list: string): Promise<string> {
  const { data } = await mcp.client.call(tool);
  return (data[list] as { id: string }[])[0]?.id ?? "";
}

/** Edits the lines that actions have changed, so that an undo of the actions has conflicts. */
function editAfterwards(): void {
  for (let i = 0; i < FILES; i += 1) mcp.project.write(pathOf(i), `${LINES}\nby hand ${i}\n`);
}

/** The calls of each tool that are to be answered, in their order. Ids are those of earlier answers. */
const CALLS: Readonly<Record<string, readonly (() => Args | Promise<Args>)[]>> = {
  list_history: [() => ({}), () => ({ limit: 100 })],
  list_actions: [
    () => ({}),
    () => ({ limit: 100 }),
    () => ({ session: SESSION.slice(0, 8), turn: turns[1]?.slice(0, 8) }),
  ],
  show_action: [async () => ({ id: await newestAction(), patch: true })],
  what_changed: [
    () => ({ patch: true }),
    () => ({ session: SESSION }),
    () => ({ session: SESSION.slice(0, 8) }),
    () => ({ turn: turns[1]?.slice(0, 8) }),
  ],
  diff: [() => ({ from: "baseline", patch: true }), () => ({ from: "baseline" })],
  file_history: [() => ({ path: pathOf(20) })],
  read_version: [() => ({ path: pathOf(1) }), () => ({ path: "bytes.bin" })],
  find_file: [() => ({ name: "a-file-with-a-rather-long-name-1.txt" })],
  blame: [() => ({ path: pathOf(20) })],
  grep: [() => ({ pattern: "line" }), () => ({ pattern: "edit", history: true })],
  undo: [
    () => ({ session: SESSION.slice(0, 8), dry_run: true }),
    async () => ({ action: await newestAction() }),
    async () => (editAfterwards(), { session: SESSION }),
  ],
  redo: [() => ({ dry_run: true })],
  rollback: [async () => ({ id: await newestAction(), dry_run: true })],
  restore: [() => ({ moment: "baseline", dry_run: true }), () => ({ moment: "baseline" })],
  begin_transaction: [() => ({ session: SESSION.slice(0, 8) })],
  commit_transaction: [async () => ({ id: await open() })],
  rollback_transaction: [
    async () => {
      await mcp.client.call("begin_transaction", { session: SESSION.slice(0, 8) });
      await work(3);
      return { id: await open() };
    },
  ],
  list_transactions: [() => ({})],
  list_conflicts: [() => ({}), () => ({ patch: true, limit: 200 })],
  resolve_conflict: [async () => ({ conflict: await firstOf("list_conflicts", "conflicts"), keep: "current" })],
  status: [() => (editAfterwards(), {})],
  take_snapshot: [() => ({ message: "many files" })],
  verify: [() => ({ quick: true })],
};

/** Returns the short id of the active transaction. */
async function open(): Promise<string> {
  const { data } = await mcp.client.call("list_transactions");
  const all = data["transactions"] as { id: string; status: string }[];
  return all.find((one) => one.status === "active")?.id ?? "";
}

function sizes({ text, data }: ToolAnswer): { readonly text: number; readonly data: number } {
  return { text: text.length, data: JSON.stringify(data).length };
}

describe("answers of MCP tools", { timeout: 120_000 }, () => {
  it.for(TOOLS.map(({ name }) => name))("%s: at most 1,500 characters, no hashes, and short ids", async (name) => {
    expect(CALLS, "each tool has calls in this test").toHaveProperty(name);
    for (const argsOf of CALLS[name] ?? []) {
      const args = await argsOf();
      const answer = await mcp.client.call(name, args);
      expect(answer.data, answer.text).not.toHaveProperty("error");
      expect(sizes(answer).text, answer.text).toBeLessThanOrEqual(1_500);
      expect(sizes(answer).data, JSON.stringify(answer.data)).toBeLessThanOrEqual(4_000);
      expect(answer.text).not.toMatch(FULL_ID);
      expect(JSON.stringify(answer.data)).not.toMatch(FULL_ID);
    }
  });

  it.for(["show_action", "list_actions", "what_changed", "diff", "read_version", "grep", "blame"])(
    "%s: an answer that was cut says how to see more, and a greater max_chars shows more",
    async (name) => {
      const args = await CALLS[name]?.[0]?.();
      const short = await mcp.client.call(name, args);
      const long = await mcp.client.call(name, { ...args, max_chars: 20_000 });
      expect(short.text).toMatch(/max_chars|list_actions {"cursor"|read_version with "offset"/);
      expect(sizes(long).text).toBeGreaterThan(2 * sizes(short).text);
      expect(sizes(long).text).toBeLessThanOrEqual(20_000);
      expect(sizes(long).data).toBeGreaterThan(2 * sizes(short).data);
    },
  );

  it("list_actions goes on where its answer was cut, each action once", async () => {
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const { data } = await mcp.client.call("list_actions", {
        limit: 100,
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...(data["actions"] as { id: string }[]).map(({ id }) => id));
      cursor = data["next_cursor"] as string | null;
      expect(data["total"]).toBeGreaterThanOrEqual(ACTIONS);
    }
    expect(seen.length).toBeGreaterThanOrEqual(ACTIONS);
    expect(new Set(seen).size).toBe(seen.length);
  });
});
