import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { ActionRequest } from "../../src/api/action-api.ts";
import type { ActionShape, TransactionShape } from "../../src/api/action-shapes.ts";
import type { ConflictShape } from "../../src/api/conflict-shape.ts";
import type { McpProject, StartMcp } from "../helpers/mcp-project.ts";

function git(cwd: string, ...args: readonly string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, env, encoding: "utf8" });
}

/** What an agent's hooks record of its tool calls, in another process than the server's. */
async function acts(mcp: McpProject, calls: readonly (readonly [ActionRequest, () => void])[]): Promise<ActionShape[]> {
  const workspace = await mcp.project.open();
  const done: ActionShape[] = [];
  for (const [request, work] of calls) {
    const action = await workspace.action(request, (snapshot) => {
      work();
      return snapshot;
    });
    if (action !== null) done.push(action);
  }
  await workspace.close();
  return done;
}

const write = (path: string, turn: string): ActionRequest => ({
  ...{ type: "write_file", payload: { path }, session: "s1", turn, toolCall: `toolu_${path}_${turn}` },
});

/** Returns the id of an action as the tools show it. */
const short = (action: ActionShape | undefined): string => action?.id.slice(0, 8) ?? "";

/** Three edits of one file's three lines, each a turn of its own; the last one is wrong. */
async function threeEdits(start: StartMcp): Promise<{ mcp: McpProject; actions: ActionShape[] }> {
  const mcp = await start((project) => project.write("main.go", "one\nsame\ntwo\nsame\nthree\n"));
  const edit = (from: string, to: string) => () => {
    mcp.project.write("main.go", mcp.project.read("main.go").replace(from, to));
  };
  const actions = await acts(mcp, [
    [write("main.go", "t1"), edit("one", "ONE")],
    [write("main.go", "t2"), edit("two", "TWO")],
    [write("main.go", "t3"), edit("three", "broken")],
  ]);
  return { mcp, actions };
}

/** Actions of agents, seen and taken back by tools, whatever stands behind them. */
export function actionsSuite(start: StartMcp): void {
  describe("that last edit broke the tests, roll it back", () => {
    it("list_actions shows the newest first; undo with its id takes that edit back, and nothing else", async () => {
      const { mcp, actions } = await threeEdits(start);
      await using _ = mcp;
      const list = await mcp.client.call("list_actions");
      const [newest] = list.data["actions"] as ActionShape[];
      expect(newest).toMatchObject({ id: short(actions[2]), action_summary: "write_file: main.go", turn: "t3" });
      expect(list.text).toContain(`undo {"action":"${newest?.id}"}`);
      const shown = await mcp.client.call("show_action", { id: newest?.id, patch: true });
      expect(shown.text).toContain("+broken");
      const undone = await mcp.client.call("undo", { action: newest?.id });
      expect(undone).toMatchObject({ isError: false, data: { total_changes: 1 } });
      expect(undone.text).toContain(`redo {"operation":"${undone.data["undo_id"] as string}"} does the work again`);
      expect(mcp.project.read("main.go")).toBe("ONE\nsame\nTWO\nsame\nthree\n");
      const after = await mcp.client.call("list_actions");
      expect((after.data["actions"] as { undone: boolean }[]).map((one) => one.undone)).toEqual([true, false, false]);
      expect(after.text).toContain(`undo {"action":"${short(actions[1])}"}`);
      await mcp.client.call("redo", { operation: undone.data["undo_id"] });
      expect(mcp.project.read("main.go")).toContain("broken");
    });

    it("one in the middle is taken back alone, by the id that the agent gave the call; a dry run changes nothing", async () => {
      const { mcp } = await threeEdits(start);
      await using _ = mcp;
      const before = mcp.project.tree();
      const dry = await mcp.client.call("undo", { action: "toolu_main.go_t2", dry_run: true });
      expect(dry.text).toContain("Would be taken back: 1 modified");
      expect(mcp.project.tree()).toEqual(before);
      await mcp.client.call("undo", { action: "toolu_main.go_t2" });
      expect(mcp.project.read("main.go")).toBe("ONE\nsame\ntwo\nsame\nbroken\n");
    });

    it("undo of lines takes back only the hunk there", async () => {
      const { mcp } = await threeEdits(start);
      await using _ = mcp;
      const lines = { file: "main.go", from_line: 1, to_line: 2 };
      const other = await mcp.client.call("undo", { ...lines, action: "toolu_main.go_t2" });
      expect([other.isError, other.text]).toEqual([true, expect.stringContaining("are at 3")]);
      const undone = await mcp.client.call("undo", { ...lines, session: "s1" });
      expect(undone).toMatchObject({ isError: false, data: { total_changes: 1 } });
      expect(mcp.project.read("main.go")).toBe("one\nsame\nTWO\nsame\nbroken\n");
    });

    it("undo of parts takes back hunks of files at once, and names a part without work", async () => {
      const { mcp } = await threeEdits(start);
      await using _ = mcp;
      const part = { file: `${mcp.project.folder}/main.go`, from_line: 1 };
      const none = await mcp.client.call("undo", { session: "s1", parts: [part, { file: "main.go", from_line: 2 }] });
      expect([none.isError, none.text]).toEqual([
        true,
        expect.stringContaining("nothing to take back at 2 of main.go"),
      ]);
      const undone = await mcp.client.call("undo", { session: "s1", parts: [part, { file: "main.go", from_line: 3 }] });
      expect(undone).toMatchObject({ isError: false, data: { total_changes: 1 } });
      expect(mcp.project.read("main.go")).toBe("one\nsame\ntwo\nsame\nbroken\n");
    });

    it("as an operation it keeps the later edits, too", async () => {
      const { mcp, actions } = await threeEdits(start);
      await using _ = mcp;
      expect((await mcp.client.call("undo", { operation: actions[1]?.id })).isError).toBe(false);
      expect(mcp.project.read("main.go")).toBe("ONE\nsame\ntwo\nsame\nbroken\n");
    });

    it("status names the agent's session while it is open", async () => {
      const { mcp } = await threeEdits(start);
      await using _ = mcp;
      expect((await mcp.client.call("status")).text).toContain("an agent's session is open: s1 (agent)");
    });

    it("what_changed says what the last turn did, and its undo takes exactly that back", async () => {
      const { mcp } = await threeEdits(start);
      await using _ = mcp;
      const last = await mcp.client.call("what_changed", { patch: true });
      expect(last.text).toContain("-three");
      expect(last.text).not.toContain("-two");
      await mcp.client.call("undo", { turn: "last" });
      expect(mcp.project.read("main.go")).toBe("ONE\nsame\nTWO\nsame\nthree\n");
    });

    it("rollback makes the file equal to what it was before the action, and undo takes that back", async () => {
      const { mcp, actions } = await threeEdits(start);
      await using _ = mcp;
      const rolled = await mcp.client.call("rollback", { id: actions[1]?.id });
      expect(rolled.isError).toBe(false);
      expect(mcp.project.read("main.go")).toBe("ONE\nsame\ntwo\nsame\nthree\n");
      await mcp.client.call("undo", { operation: rolled.data["undo_id"] });
      expect(mcp.project.read("main.go")).toBe("ONE\nsame\nTWO\nsame\nbroken\n");
    });

    it("rollback says what was kept aside and comes back", async () => {
      await using mcp = await start((project) => {
        project.write(".gitignore", ".env\n");
        project.write(".env", "KEY=1");
      });
      await acts(mcp, [
        [{ type: "run_command", payload: { command: "git clean -fdx" } }, () => mcp.project.remove(".env")],
      ]);
      const [action] = (await mcp.client.call("list_actions", {})).data["actions"] as { id: string }[];
      const rolled = await mcp.client.call("rollback", { id: action?.id });
      expect(mcp.project.read(".env")).toBe("KEY=1");
      expect(rolled.text).toMatch(/put back: \.env/);
      expect(rolled.text).not.toContain("already have that state");
    });

    it("what_changed and show_action say what an action did to git, and undo takes it back", async () => {
      await using mcp = await start((project) => {
        project.write("a", "1");
        git(project.folder, "init", "-q", "-b", "main");
        git(project.folder, "add", ".");
        git(project.folder, "commit", "-qm", "first");
      });
      const request = { type: "run_command", payload: { command: "git branch x" }, session: "s1", turn: "t1" };
      const [action] = await acts(mcp, [[request, () => git(mcp.project.folder, "branch", "x")]]);
      for (const shown of [
        await mcp.client.call("what_changed"),
        await mcp.client.call("show_action", { id: short(action) }),
      ]) {
        expect(shown.text).toContain(".git: refs/heads/x");
        expect(shown.text).toContain("undo {");
        expect(shown.data["git"]).toMatchObject([{ path: ".git", refs: [{ name: "refs/heads/x", before: null }] }]);
      }
      expect((await mcp.client.call("undo", { turn: "last" })).text).toContain(".git: refs/heads/x");
      expect(git(mcp.project.folder, "branch", "--list", "x")).toBe("");
    });

    it("pages through many actions, newest first, each once", async () => {
      await using mcp = await start();
      const calls = Array.from({ length: 7 }, (_, i) => {
        return [write(`${i}.txt`, "t"), () => mcp.project.write(`${i}.txt`, `${i}`)] as const;
      });
      const made = await acts(mcp, calls);
      const seen: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const given = cursor === undefined ? {} : { cursor };
        const page = await mcp.client.call("list_actions", { limit: 3, ...given });
        expect(page.data["total"]).toBe(7);
        seen.push(...(page.data["actions"] as ActionShape[]).map((one) => one.id));
        cursor = page.data["next_cursor"] as string | null;
      }
      expect(seen).toEqual(made.map(short).reverse());
      const one = await mcp.client.call("list_actions", { path: mcp.project.at("3.txt") });
      expect(one.data["total"]).toBe(1);
    });

    it("where no hooks are, says where else to look", async () => {
      await using mcp = await start();
      const { text, isError } = await mcp.client.call("list_actions");
      expect(isError).toBe(false);
      expect(text).toContain("list_history");
      const last = await mcp.client.call("what_changed");
      expect(last.isError).toBe(true);
      expect(last.text).toContain("list_actions");
      const nothing = await mcp.client.call("undo");
      expect(nothing.data["error"]).toMatchObject({ code: "NOT_FOUND" });
    });
  });

  describe("what does not merge", () => {
    it("is left as it is, listed, and settled", async () => {
      await using mcp = await start((project) => project.write("a.txt", "one\n"));
      const set = (text: string) => () => mcp.project.write("a.txt", text);
      const [first] = await acts(mcp, [
        [write("a.txt", "t1"), set("two\n")],
        [write("a.txt", "t2"), set("three\n")],
      ]);
      const undone = await mcp.client.call("undo", { action: first?.id });
      expect(undone.isError).toBe(true);
      expect(undone.text).toContain("list_conflicts");
      expect(mcp.project.read("a.txt")).toBe("three\n");
      const list = await mcp.client.call("list_conflicts", { patch: true });
      expect(list.text).toMatch(/^@@ /m);
      const [conflict] = list.data["conflicts"] as ConflictShape[];
      expect(list.text).toContain("a.txt");
      const merged = { conflict: conflict?.id, keep: "merged", content: "both\n" };
      expect((await mcp.client.call("resolve_conflict", merged)).isError).toBe(false);
      expect(mcp.project.read("a.txt")).toBe("both\n");
      expect((await mcp.client.call("list_conflicts")).data["total"]).toBe(0);
      expect((await mcp.client.call("verify")).data["ok"]).toBe(true);
    });
  });

  describe("transactions", () => {
    it("what is done within one is rolled back as a whole; a committed one stays", async () => {
      await using mcp = await start((project) => project.write("a.txt", "one"));
      await acts(mcp, [[write("before.txt", "t"), () => mcp.project.write("before.txt", "there before")]]);
      const begun = await mcp.client.call("begin_transaction", { name: "try it" });
      const { id } = begun.data["transaction"] as TransactionShape;
      await acts(mcp, [
        [write("a.txt", "t"), () => mcp.project.write("a.txt", "two")],
        [write("b.txt", "t"), () => mcp.project.write("b.txt", "new")],
      ]);
      expect((await mcp.client.call("list_transactions")).text).toContain("1 active");
      const rolled = await mcp.client.call("rollback_transaction", { id });
      expect(rolled.text).toContain("rolled_back");
      expect(mcp.project.read("a.txt")).toBe("one");
      expect(mcp.project.tree()).not.toHaveProperty(["b.txt"]);
      await mcp.client.call("redo", { operation: (rolled.data["undo"] as { undo_id: string }).undo_id });
      expect(mcp.project.read("b.txt")).toBe("new");

      const second = (await mcp.client.call("begin_transaction")).data["transaction"] as TransactionShape;
      await acts(mcp, [[write("c.txt", "t"), () => mcp.project.write("c.txt", "kept")]]);
      const kept = await mcp.client.call("commit_transaction", { id: second.id });
      expect(kept.text).toContain("committed: 1 action");
      expect(mcp.project.read("c.txt")).toBe("kept");
      await mcp.client.call("undo", { operation: second.id });
      expect(mcp.project.tree()).not.toHaveProperty(["c.txt"]);
    });

    it("with a session, what others do meanwhile does not belong to it", async () => {
      await using mcp = await start();
      const begun = await mcp.client.call("begin_transaction", { session: "s1" });
      const { id } = begun.data["transaction"] as TransactionShape;
      await acts(mcp, [
        [write("mine.txt", "t"), () => mcp.project.write("mine.txt", "mine")],
        [{ ...write("theirs.txt", "t"), session: "s2" }, () => mcp.project.write("theirs.txt", "theirs")],
      ]);
      await mcp.client.call("rollback_transaction", { id });
      expect(Object.keys(mcp.project.tree())).toEqual(["theirs.txt"]);
    });

    it("one that is open when the client goes is still open for the next", async () => {
      await using mcp = await start();
      const { id } = (await mcp.client.call("begin_transaction")).data["transaction"] as TransactionShape;
      const workspace = await mcp.project.open();
      expect(await workspace.transactions()).toMatchObject([
        { id: expect.stringMatching(new RegExp(`^${id}-`)), status: "active" },
      ]);
    });
  });
}
