import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LogEventShape } from "../api/shapes.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { pythonText, readPythonJson } from "../core/log/python-json.ts";

/** A new, empty workspace without a folder, and its disposal. */
export interface WorkspaceUnderTest extends AsyncDisposable {
  readonly workspace: WorkspaceApi;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

/** Returns the code of a call's error, on which programs may rely. */
async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return "nothing was thrown";
  } catch (error) {
    return error instanceof Error && "code" in error ? error.code : error;
  }
}

/**
 * The contract of `WorkspaceApi` for a workspace without a folder, wherever it is: embedded, or at the other end of a
 * socket. The tests build on one another.
 */
export function workspaceSuite(name: string, make: () => Promise<WorkspaceUnderTest>): void {
  describe(name, () => {
    let made: WorkspaceUnderTest;
    let ws: WorkspaceApi;
    beforeAll(async () => {
      made = await make();
      ws = made.workspace;
    });
    afterAll(async () => made[Symbol.asyncDispose]());

    test("every write is recorded, without anybody who watches", async () => {
      expect(await ws.recording()).toMatchObject({ state: "everything", by: [{ kind: "writes" }], reason: null });
      expect((await ws.status()).recording).toEqual(await ws.recording());
    });

    describe("files", () => {
      test("a written file can be read, and has a history", async () => {
        const first = await ws.putFile("src/a.ts", bytes("one"));
        expect(first).toMatchObject({
          file: { path: "src/a.ts", kind: "file", size: 3, hash: sha256("one"), iteration: 1 },
        });
        expect(first.changes.map(({ path, change_type }) => [path, change_type])).toContainEqual([
          "src/a.ts",
          "created",
        ]);
        await ws.putFile("src/a.ts", bytes("second"));
        const file = await ws.file("src/a.ts");
        expect(await textOf(file.pieces())).toBe("second");
        expect(await textOf(file.pieces({ start: 1, end: 4 }))).toBe("eco");
        const history = await ws.history("src/a.ts");
        expect(history.map(({ iteration, size, hash }) => [iteration, size, hash])).toEqual([
          [1, 3, sha256("one")],
          [2, 6, sha256("second")],
        ]);
        expect(history[0]?.timestamp).toBeGreaterThan(1_700_000_000_000);
        expect(await ws.history("src/a.ts", { after: 1 })).toHaveLength(1);
        expect(await ws.history("src/a.ts", { limit: 1 })).toHaveLength(1);
        const old = await ws.file("src/a.ts", { iteration: 1 });
        expect([old.iteration, await textOf(old.pieces())]).toEqual([1, "one"]);
      });

      test("the lines of a file have their authors, and its history has patches", async () => {
        await ws.putFile("blamed.txt", bytes("one\n"), { actor: "ann" });
        await ws.putFile("blamed.txt", bytes("one\ntwo\n"), { actor: "bob" });
        await ws.moveFile("blamed.txt", "renamed.txt");
        const { lines, origins, path, total_lines: total, iteration } = await ws.blame("renamed.txt");
        expect([path, total, iteration]).toEqual(["renamed.txt", 2, 1]);
        expect(lines).toEqual([
          { line: 1, origin: 0, text: "one" },
          { line: 2, origin: 1, text: "two" },
        ]);
        expect(origins).toMatchObject([
          { kind: "recorded", path: "blamed.txt", iteration: 1, actor: "ann", cause: "write" },
          { kind: "recorded", path: "blamed.txt", iteration: 2, actor: "bob", operation: expect.any(String) },
        ]);
        expect((await ws.blame("renamed.txt", { fromLine: 2, toLine: 2 })).lines).toHaveLength(1);
        expect(await codeOf(ws.blame("renamed.txt", { fromLine: 7 }))).toBe("USAGE");
        expect((await ws.blame("blamed.txt", { at: "latest" }).catch(() => ({ deleted: true }))).deleted).toBe(true);
        const patched = await ws.history("blamed.txt", { patch: true });
        expect(patched.map(({ patch }) => patch?.split("\n").filter((one) => /^[-+]\w/.test(one)))).toEqual([
          ["+one"],
          ["+two"],
          ["-one", "-two"],
        ]);
        expect((await ws.history("blamed.txt", { patch: true, after: 1 }))[0]?.patch).toContain("\n+two\n");
        expect((await ws.history("blamed.txt"))[0]).not.toHaveProperty("patch");
        await ws.deleteFile("renamed.txt");
        const { changes, total_changes: all } = await ws.textHistory("two", { path: "blamed.txt" });
        expect([all, changes.map(({ iteration, before, after, actor }) => [iteration, before, after, actor])]).toEqual([
          2,
          [
            [3, 1, 0, expect.any(String)],
            [2, 0, 1, "bob"],
          ],
        ]);
        expect((await ws.textHistory("two", { limit: 1 })).changes).toHaveLength(1);
        expect(await codeOf(ws.textHistory(""))).toBe("USAGE");
        const { matches } = await ws.grep("^tw.$", { history: true, paths: ["renamed.txt", "blamed.txt"] });
        expect(
          matches.map(({ path: at, line, text, from, until }) => [at, line, text, from?.iteration, until?.cause]),
        ).toEqual([
          ["renamed.txt", 2, "two", 1, expect.any(String)],
          ["blamed.txt", 2, "two", 2, expect.any(String)],
        ]);
        expect(await ws.grep("tw.", { fixed: true, ignoreCase: true, filesOnly: true, limit: 1 })).toMatchObject({
          ...{ matches: [], total_matches: 0, complete: true },
        });
        expect(await codeOf(ws.grep("("))).toBe("USAGE");
      });

      test("a content is written and read in pieces", async () => {
        const piece = new Uint8Array(100_000).fill(65);
        async function* pieces(): AsyncIterable<Uint8Array> {
          for (let i = 0; i < 30; i += 1) yield piece;
          await Promise.resolve();
        }
        const { file } = await ws.putFile("large.bin", pieces());
        expect(file?.size).toBe(3_000_000);
        const read = await ws.file("large.bin");
        let size = 0;
        for await (const one of read.pieces()) size += one.length;
        expect(size).toBe(3_000_000);
        expect(await textOf(read.pieces({ start: 2_999_998, end: 3_000_000 }))).toBe("AA");
        const cat = await ws.cat("large.bin");
        expect([cat.size, cat.iteration, cat.kind, cat.hash]).toEqual([3_000_000, 1, "file", read.hash]);
        const blob = await ws.blob(read.hash);
        expect(blob.size).toBe(3_000_000);
        expect((await textOf(blob.pieces())).length).toBe(3_000_000);
      });

      test("an error of the source of a content is thrown, and nothing is written", async () => {
        async function* broken(): AsyncIterable<Uint8Array> {
          yield bytes("half");
          await Promise.resolve();
          throw new RangeError("no more");
        }
        await expect(ws.putFile("broken.txt", broken())).rejects.toThrow("no more");
        expect(await codeOf(ws.file("broken.txt"))).toBe("NOT_FOUND");
      });

      test("writes and deletions respect their conditions", async () => {
        expect(await codeOf(ws.putFile("src/a.ts", bytes("x"), { ifMatch: sha256("one") }))).toBe(
          "PRECONDITION_FAILED",
        );
        expect(await codeOf(ws.putFile("src/a.ts", bytes("x"), { ifMatch: "none" }))).toBe("PRECONDITION_FAILED");
        expect(await codeOf(ws.putFile("src/b.ts", bytes("x"), { ifMatch: "*" }))).toBe("PRECONDITION_FAILED");
        await expect(ws.deleteFile("src/a.ts", { ifMatch: sha256("one") })).rejects.toMatchObject({
          code: "PRECONDITION_FAILED",
          data: { path: "src/a.ts", hash: sha256("second") },
        });
        await ws.putFile("src/a.ts", bytes("third"), { ifMatch: [sha256("one"), sha256("second")] });
        for (const ifMatch of ["→", "W/1", [], ["*"]])
          expect(await codeOf(ws.putFile("src/a.ts", bytes("x"), { ifMatch }))).toBe("USAGE");
        await ws.putFile("src/b.ts", bytes("b"), { ifMatch: "none" });
      });

      test("a request that is sent twice is performed once", async () => {
        const once = await ws.putFile("twice.txt", bytes("1"), { requestId: "request-1" });
        const again = await ws.putFile("twice.txt", bytes("1"), { requestId: "request-1" });
        expect(again).toEqual(once);
        expect(await ws.history("twice.txt")).toHaveLength(1);
      });

      test("the id of a request can be any text of at most 200 characters", async () => {
        for (const [n, requestId] of ["build → 7", "100% done", "100%25%20done"].entries()) {
          const once = await ws.putFile("named.txt", bytes(`${n}`), { requestId });
          expect(await ws.putFile("named.txt", bytes(`${n}`), { requestId })).toEqual(once);
        }
        expect(await ws.history("named.txt")).toHaveLength(3);
        for (const requestId of ["", "\ud800", "x".repeat(201)])
          expect(await codeOf(ws.putFile("named.txt", bytes("x"), { requestId }))).toBe("USAGE");
        await ws.deleteFile("named.txt");
      });

      test("folders, moves, deletions, permissions and links are supported", async () => {
        await ws.makeFolder("empty");
        const put = await ws.putFile("run.sh", bytes("#!/bin/sh\n"), {
          permissions: 0o755,
          actor: "somebody",
          session: "s-1",
        });
        expect(put.file?.permissions).toBe(0o755);
        expect((await ws.history("run.sh"))[0]).toMatchObject({ actor: "somebody", session: "s-1" });
        await ws.putFile("link", bytes("run.sh"), { kind: "symlink" });
        expect(await ws.file("link")).toMatchObject({ kind: "symlink", size: 6 });
        const moved = await ws.moveFile("run.sh", "bin/run.sh");
        expect(moved.file?.path).toBe("bin/run.sh");
        expect(await codeOf(ws.moveFile("bin/run.sh", "src/b.ts"))).toBe("REFUSED");
        await ws.moveFile("bin/run.sh", "src/b.ts", { overwrite: true });
        expect(await textOf((await ws.file("src/b.ts")).pieces())).toBe("#!/bin/sh\n");
        const gone = await ws.deleteFile("src/b.ts");
        expect(gone.file).toBeNull();
        expect(await codeOf(ws.file("src/b.ts"))).toBe("NOT_FOUND");
        expect(await textOf((await ws.cat("src/b.ts")).pieces())).toBe("#!/bin/sh\n");
        expect(await codeOf(ws.deleteFile("src/b.ts"))).toBe("NOT_FOUND");
        expect((await ws.file("empty")).kind).toBe("dir");
        expect(await textOf((await ws.file("empty")).pieces())).toBe("");
      });

      test("files are listed beneath a folder, by depth, in pages, and at a moment", async () => {
        const top = await ws.files({ depth: 1 });
        expect(top.files.map(({ path }) => path)).toEqual(["bin", "empty", "large.bin", "link", "src", "twice.txt"]);
        expect((await ws.files({ path: "src" })).files.map(({ path }) => path)).toEqual(["src/a.ts"]);
        const page = await ws.files({ depth: 1, limit: 2 });
        expect(page.files).toHaveLength(2);
        const rest = await ws.files({ depth: 1, after: page.next ?? "" });
        expect(rest.files.map(({ path }) => path)).toEqual(["large.bin", "link", "src", "twice.txt"]);
        expect(await codeOf(ws.files({ path: "nowhere" }))).toBe("NOT_FOUND");
        const [first] = await ws.history("src/a.ts");
        expect((await ws.files({ at: `seq:${first?.seq}`, path: "src" })).files.map(({ hash }) => hash)).toEqual([
          sha256("one"),
        ]);
      });

      test.each([
        ["history", "the name of a route"],
        ["at/3", "like a route"],
        ["50% off #1? [x].txt", "characters with a meaning in URLs"],
        ["naïve/日本 ♥.txt", "not ASCII"],
        ["a\\b", "a backslash"],
        ["line\nbreak", "a line break"],
        ["--force", "like a flag"],
        ["<img src=x onerror=alert(1)>", "like markup"],
        ["base64", "like the mark of encoded bytes"],
      ])("path %j: %s", async (path) => {
        await ws.putFile(`names/${path}`, bytes(path));
        expect(await textOf((await ws.file(`names/${path}`)).pieces())).toBe(path);
        expect(await ws.history(`names/${path}`)).toHaveLength(1);
        await ws.putFile(`names/${path}/`.replace(/\/$/, ""), bytes("2"));
        expect(await textOf((await ws.file(`names/${path}`, { iteration: 1 })).pieces())).toBe(path);
        await ws.deleteFile(`names/${path}`);
      });

      test("a path that is not UTF-8 is given as bytes", async () => {
        const given = `base64:${Buffer.from([0x66, 0xff, 0x2f, 0xfe]).toString("base64")}`;
        await ws.putFile(given, bytes("odd"));
        const [file] = (await ws.files()).files.filter(({ path_b64 }) => path_b64 !== undefined && path_b64 !== "Zv8=");
        expect(file?.path_b64).toBe("Zv8v/g==");
        expect(await textOf((await ws.file(`base64:${file?.path_b64}`)).pieces())).toBe("odd");
        await ws.deleteFile("base64:Zv8=");
      });

      test.each(["../x", "a/../../x", "/etc/passwd", "a//b", "a/./b", "nul\0byte", "..", "\ud800"])(
        "path %j is refused",
        async (path) => {
          expect(await codeOf(ws.putFile(path, bytes("x")))).toBe("PATH_INVALID");
          expect(await codeOf(ws.file(path))).toBe("PATH_INVALID");
          expect(await codeOf(ws.deleteFile(path))).toBe("PATH_INVALID");
        },
      );
    });

    describe("history", () => {
      test("snapshots, diffs, manifests, the status and the head are answered", async () => {
        const snapshot = await ws.snapshot({ name: "before", message: "as it was" });
        expect(snapshot).toMatchObject({ name: "before", message: "as it was", pinned: false });
        expect((await ws.snapshots()).map(({ number }) => number)).toEqual([0, 1]);
        await ws.putFile("src/a.ts", bytes("fourth\n"));
        const diff = await ws.diff("before", "now", { patch: true, paths: ["src"] });
        expect(diff.changes.map(({ path, patch }) => [path, patch?.includes("+fourth")])).toEqual([["src/a.ts", true]]);
        expect(Object.keys((await ws.manifest("before")).files)).toContain("src/a.ts");
        expect(await ws.status()).toMatchObject({ workspace: (await ws.head()).workspace, changes: [], snapshots: 2 });
        expect((await ws.head()).hash).toMatch(/^[0-9a-f]{64}$/);
        expect(await ws.find("a.ts")).toEqual(["src/a.ts"]);
        expect(await codeOf(ws.snapshot({ name: "before" }))).toBe("REFUSED");
        expect(await codeOf(ws.diff("nothing-of-that-name", "now"))).toBe("NOT_FOUND");
      });

      test("a restore can be tried, made, undone and redone", async () => {
        const dry = await ws.restore("before", { dryRun: true });
        expect([dry.dry_run, dry.undo_id, dry.changes.map(({ path }) => path)]).toEqual([true, null, ["src/a.ts"]]);
        const restored = await ws.restore("before", { paths: ["src/a.ts"] });
        expect(await textOf((await ws.file("src/a.ts")).pieces())).toBe("third");
        await ws.undo({ operation: restored.undo_id ?? "" });
        expect(await textOf((await ws.file("src/a.ts")).pieces())).toBe("fourth\n");
        await ws.redo();
        expect(await textOf((await ws.file("src/a.ts")).pieces())).toBe("third");
        const operations = await ws.operations();
        expect(operations.slice(-3).map(({ kind }) => kind)).toEqual(["restore", "undo", "redo"]);
        expect((await ws.recent(2)).items).toHaveLength(2);
        expect(await codeOf(ws.undo({ actor: "a", since: "baseline" }))).toBe("USAGE");
      });

      test("the log is answered as a whole and in parts", async () => {
        const all = await ws.log();
        expect(all.map(({ seq }) => seq)).toEqual(all.map((_, i) => (all[0]?.seq ?? 0) + i));
        const last = all.at(-1) as LogEventShape;
        expect(await ws.log({ reverse: true, limit: 1 })).toEqual([last]);
        expect(await ws.log({ from: last.seq - 1, to: last.seq })).toHaveLength(2);
        const files = await ws.log({ prefix: "file:src/a.ts" });
        expect(new Set(files.map(({ record_id }) => record_id))).toEqual(new Set(["file:src/a.ts"]));
      });

      test("events are followed as they are recorded, each once", async () => {
        const ended = new AbortController();
        const seq = (await ws.log({ reverse: true, limit: 1 }))[0]?.seq ?? 0;
        const heard: LogEventShape[] = [];
        const hearing = (async () => {
          for await (const event of ws.events({ after: seq, signal: ended.signal })) {
            heard.push(event);
            if (heard.some(({ record_id }) => record_id === "file:events/9")) ended.abort();
          }
        })();
        for (let i = 0; i < 10; i += 1) await ws.putFile(`events/${i}`, bytes(String(i)));
        await hearing;
        expect(heard.map((event) => event.seq)).toEqual(heard.map((_, i) => seq + 1 + i));
        expect(heard[0]).toEqual((await ws.log({ from: seq + 1, limit: 1 }))[0]);
      });
    });

    describe("work", () => {
      test("an action has the writes in it, and can be undone", async () => {
        const session = await ws.startSession({ id: "agent-1", notes: ["a test"] });
        expect(session).toMatchObject({ session_id: "agent-1", state: "running" });
        const action = await ws.snapshotAction({
          type: "write_file",
          payload: { path: "src/a.ts", content: "of no matter" },
          session: "agent-1",
          turn: "t-1",
          toolCall: "call-1",
        });
        expect(action).toMatchObject({
          state: "open",
          files_backed_up: ["src/a.ts"],
          tool_call: "call-1",
          turn: "t-1",
        });
        await ws.putFile("src/a.ts", bytes("by the agent\n"), { session: "agent-1" });
        const ended = await ws.finishAction(action?.id ?? "", { outcome: "done" });
        expect(ended.changes.map(({ path }) => path)).toEqual(["src/a.ts"]);
        expect((await ws.list()).map(({ id }) => id)).toEqual([action?.id]);
        expect((await ws.showAction("call-1")).id).toBe(action?.id);
        expect((await ws.diff(action?.id ?? "")).changes).toHaveLength(1);
        expect((await ws.changes({ turn: "t-1" })).changes.map(({ path }) => path)).toEqual(["src/a.ts"]);
        expect((await ws.rollback("call-1", { dryRun: true })).changes).toHaveLength(1);
        await ws.undo({ action: "call-1" });
        expect(await textOf((await ws.file("src/a.ts")).pieces())).toBe("third");
        expect((await ws.endSession("agent-1")).state).toBe("ended");
        expect((await ws.session("agent-1")).ended).not.toBeNull();
        expect((await ws.sessions()).map(({ session_id }) => session_id)).toContain("agent-1");
        expect(await ws.snapshotAction({ type: "write_file", payload: { path: "x" }, otr: true })).toBeNull();
        expect(await ws.abandonActions({ session: "agent-1" })).toEqual([]);
      });

      test("a turn has what the person asked, and is gone back to before", async () => {
        const turn = { session: "agent-2", turn: "turn-2", actor: "agent" };
        const begun = await ws.startTurn({ ...turn, prompt: "make it new", transcript: "/t.jsonl" });
        expect(begun).toMatchObject({ turn: "turn-2", session: "agent-2", prompt_kept: true });
        expect(await ws.startTurn({ ...turn, prompt: "make it new" })).toMatchObject({ prompt_kept: false });
        await ws.putFile("src/turn.ts", bytes("new"), { session: "agent-2" });
        const [last] = await ws.turns({ limit: 1 });
        expect(last).toMatchObject({ turn: "turn-2", seq: begun.seq, prompt: "make it new", prompt_state: "kept" });
        expect(await ws.turns({ actor: "nobody" })).toEqual([]);
        expect(await ws.turns({ before: "agent-2:turn-2", session: "agent-2" })).toEqual([]);
        const { changes } = await ws.undo({ rewind: "agent-2:turn-2" });
        expect(changes.map(({ path }) => path)).toEqual(["src/turn.ts"]);
        await expect(ws.undo({ rewind: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
      });

      test("action and transaction run a function in a bracket", async () => {
        const found = await ws.action({ type: "write_file", payload: { path: "in.txt" } }, async (action) => {
          await ws.putFile("in.txt", bytes("in"));
          return action?.id;
        });
        expect((await ws.showAction(found ?? "")).state).toBe("done");
        const failed = ws.transaction(async () => {
          await ws.putFile("in.txt", bytes("changed"));
          throw new RangeError("half way");
        });
        await expect(failed).rejects.toThrow("half way");
        expect(await textOf((await ws.file("in.txt")).pieces())).toBe("in");
        expect((await ws.transactions()).map(({ status }) => status)).toEqual(["rolled_back"]);
      });

      test("a transaction can be begun and committed by hand", async () => {
        const { id } = await ws.beginTransaction({ name: "two files" });
        await ws.putFile("tx/1", bytes("1"));
        expect(await ws.commitTransaction(id)).toMatchObject({ id, status: "committed", name: "two files" });
        expect(await codeOf(ws.rollbackTransaction(id))).toBe("REFUSED");
        expect(await codeOf(ws.commitTransaction("nothing"))).toBe("NOT_FOUND");
      });

      test("an undo of lines takes back only the hunks there, and later the rest", async () => {
        await ws.putFile("lines.txt", bytes("a\nb\nc\nd\n"));
        await ws.putFile("lines.txt", bytes("A\nb\nc\nD\n"));
        const dry = await ws.undo({ file: "lines.txt", fromLine: 4, dryRun: true });
        expect(dry.changes[0]?.patch).toContain("-D\n+d\n");
        const { operation } = await ws.undo({ file: "lines.txt", fromLine: 4, toLine: 4 });
        expect(await textOf((await ws.file("lines.txt")).pieces())).toBe("A\nb\nc\nd\n");
        const again = { operation: operation?.id ?? "", file: "lines.txt", fromLine: 2, toLine: 4 };
        expect(await codeOf(ws.undo(again))).toBe("NOT_FOUND");
        expect(await codeOf(ws.undo({ ...again, file: "nowhere.txt" }))).toBe("NOT_FOUND");
        expect(await codeOf(ws.redo({ file: "lines.txt", fromLine: 4 }))).toBe("USAGE");
        await ws.undo({ operation: operation?.id ?? "" });
        expect(await textOf((await ws.file("lines.txt")).pieces())).toBe("a\nb\nc\nd\n");
        await ws.redo();
        await ws.redo();
        expect(await textOf((await ws.file("lines.txt")).pieces())).toBe("A\nb\nc\nD\n");
      });

      test("an undo of parts takes back hunks of several files at once, as a dry run lists them", async () => {
        await ws.putFile("part 1.txt", bytes("a\nb\nc\nd\n"));
        const { seq } = await ws.putFile("part 2.txt", bytes("a\nb\nc\nd\n"));
        await ws.putFile("part 1.txt", bytes("A\nb\nc\nD\n"));
        await ws.putFile("part 2.txt", bytes("A\nb\nc\nD\n"));
        const since = `seq:${seq}`;
        const dry = await ws.undo({ since, hunks: true, dryRun: true });
        const [first, second] = dry.hunks ?? [];
        expect(first).toMatchObject({ file: "part 1.txt", edited_by: [] });
        expect(first?.hunks[1]).toMatchObject({ from_line: 4, to_line: 4, merges: true });
        expect(first?.hunks[1]?.patch).toContain("-D\n+d\n");
        const parts = [
          { file: "part 1.txt", fromLine: 4, toLine: 4, hunk: true, seen: first?.seen },
          { file: "part 2.txt", seen: second?.seen },
        ];
        expect(await codeOf(ws.undo({ since, parts: [{ file: "part 1.txt", seen: null }] }))).toBe("REFUSED");
        await ws.undo({ since, parts });
        expect(await textOf((await ws.file("part 1.txt")).pieces())).toBe("A\nb\nc\nd\n");
        expect(await textOf((await ws.file("part 2.txt")).pieces())).toBe("a\nb\nc\nd\n");
        await ws.redo();
        expect(await textOf((await ws.file("part 2.txt")).pieces())).toBe("A\nb\nc\nD\n");
      });

      test("an undo that does not merge leaves a conflict, which can be settled", async () => {
        await ws.putFile("merge.txt", bytes("a\nb\nc\n"));
        const change = await ws.putFile("merge.txt", bytes("a\nB\nc\n"));
        await ws.putFile("merge.txt", bytes("a\nBB\nc\n"));
        const undone = await ws.undo({ since: `seq:${change.seq - 1}`, dryRun: true });
        expect(undone.dry_run).toBe(true);
        const action = await ws.snapshotAction({ type: "write_file", payload: { path: "merge.txt" } });
        await ws.putFile("merge.txt", bytes("a\nX\nc\n"));
        await ws.finishAction(action?.id ?? "");
        await ws.putFile("merge.txt", bytes("a\nXY\nc\n"));
        const { unmerged } = await ws.undo({ action: action?.id ?? "" });
        expect(unmerged.map(({ path }) => path)).toEqual(["merge.txt"]);
        const [conflict] = await ws.conflicts({ patch: true });
        expect(conflict).toMatchObject({ path: "merge.txt", state: "open" });
        const settled = await ws.resolve(conflict?.id ?? "", { keep: "merged", content: bytes("merged by hand\n") });
        expect(settled.conflict).toMatchObject({ state: "settled", settled: "merged" });
        expect(await textOf((await ws.file("merge.txt")).pieces())).toBe("merged by hand\n");
        expect(await ws.conflicts()).toEqual([]);
        expect(await ws.conflicts({ all: true })).toHaveLength(1);
      });
    });

    describe("records", () => {
      test("records are put, read, deleted, listed, replayed and exported", async () => {
        const put = await ws.records.upsert(
          "task/1 ö",
          { title: "a task", n: 1.5, deep: [{ a: null }] },
          { recursionDepth: 2 },
        );
        expect(put).toMatchObject({ op: "upsert", record_id: "task/1 ö", recursion_depth: 2 });
        expect(await ws.records.get("task/1 ö")).toEqual({ title: "a task", n: 1.5, deep: [{ a: null }] });
        expect(await ws.records.get("none")).toBeUndefined();
        await ws.records.upsert("..", { odd: true });
        expect((await ws.records.all()).map(([id]) => id)).toEqual(["..", "task/1 ö"]);
        expect((await ws.records.delete(".."))?.op).toBe("delete");
        expect(await ws.records.delete("..")).toBeUndefined();
        const events = [];
        for await (const event of ws.records.replay()) events.push([event.op, event.record_id]);
        expect(events).toEqual([
          ["upsert", "task/1 ö"],
          ["upsert", ".."],
          ["delete", ".."],
        ]);
        const lines = [];
        for await (const line of ws.records.export()) lines.push(line);
        expect(lines).toEqual(['{"id":"task/1 ö","record":{"deep":[{"a":null}],"n":1.5,"title":"a task"}}']);
        expect(await codeOf(ws.records.upsert("", {}))).toBe("USAGE");
      });

      test("records are migrated and verified, and imported from chronomemory", async () => {
        expect(await ws.records.migrate((record) => ({ ...record, v: 2 }))).toBe(1);
        expect(await ws.records.get("task/1 ö")).toMatchObject({ title: "a task", v: 2 });
        expect(await ws.records.chainValid()).toBe(true);
        expect((await ws.records.verify()).problems).toEqual([]);
        expect(await codeOf(ws.records.importChronomemory(bytes("no log\n")))).toBe("INTEGRITY_VIOLATION");
        const fields = {
          op: "compact",
          prev_hash: "",
          record: {},
          record_id: "s",
          recursion_depth: 0,
          seq: 51,
          ts: "T",
        };
        const hash = sha256(pythonText(readPythonJson(JSON.stringify(fields))));
        const log = bytes(`${JSON.stringify({ ...fields, hash })}\n{"torn`);
        expect(await codeOf(ws.records.importChronomemory(log, { upToTear: true }))).toBe("REFUSED");
        const checkpoint = bytes('{"seq": 50, "last_hash": "", "records": [{"id": "held"}]}');
        const brought = await ws.records.importChronomemory(log, { checkpoint, upToTear: true });
        expect(brought).toMatchObject({ events: 0, unverified: { checkpoint: { records: 1 }, tear: { line: 2 } } });
        expect(await ws.records.get("held")).toEqual({ id: "held" });
      });
    });

    describe("upkeep", () => {
      test("verify, du, config, retention, pin, prune, rebuild, compact and gc are answered", async () => {
        expect((await ws.verify({ expect: (await ws.head()).note })).ok).toBe(true);
        await ws.verifyIntegrity();
        expect((await ws.du({ by: "path" })).groups?.length).toBeGreaterThan(0);
        expect((await ws.configure({ maxFileSize: 5_000_000 })).maxFileSize).toBe(5_000_000);
        expect((await ws.config()).maxFileSize).toBe(5_000_000);
        expect((await ws.retention()).sources.max_snapshots).toBe("default");
        expect(await ws.explain("src/a.ts")).toMatchObject({ path: "src/a.ts", tracked: true, recorded: true });
        await ws.pin("1");
        expect((await ws.snapshots()).map(({ pinned }) => pinned)).toEqual([true, true]);
        await ws.pin("1", false);
        expect((await ws.snapshots()).map(({ pinned }) => pinned)).toEqual([true, false]);
        expect((await ws.prune({ keepLast: 1_000, dryRun: true })).dry_run).toBe(true);
        expect((await ws.rebuild()).events).toBeGreaterThan(10);
        expect((await ws.compact()).events_archived).toBeGreaterThan(10);
        expect((await ws.gc()).freed_blobs).toBeGreaterThanOrEqual(0);
      });

      test("a workspace without a folder refuses work off the record, and does not begin it", async () => {
        let begun = false;
        const work = (): void => void (begun = true);
        const codes = [
          await codeOf(ws.offRecord(work)),
          await codeOf(ws.action({ type: "run_command", payload: { command: "make" }, otr: true }, work)),
        ];
        expect([...codes, begun]).toEqual([expect.stringMatching(/^(USAGE|REFUSED)$/), codes[0], false]);
      });

      test("an agent's view refuses what agents may not do, and closing it keeps the workspace open", async () => {
        const agent = ws.as({ role: "agent", actor: "claude", client: "a test" });
        expect(await codeOf(agent.prune())).toBe("FORBIDDEN");
        expect(await codeOf(agent.configure({ maxFileSize: 1 }))).toBe("FORBIDDEN");
        await agent.putFile("by-agent.txt", bytes("x"));
        expect((await ws.history("by-agent.txt"))[0]?.actor).toBe("claude");
        expect(() => agent.as({ role: "person" })).toThrow(expect.objectContaining({ code: "FORBIDDEN" }));
        await agent.close();
        expect((await ws.files({ depth: 1, limit: 1 })).files).toHaveLength(1);
      });
    });
  });
}
