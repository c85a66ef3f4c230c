import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "./sandbox.ts";

/** Records a tool call through the library, in the same store. Returns the id of the action. */
async function edited(box: Sandbox, path: string, content: string, turn = "turn-1"): Promise<string> {
  const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  const workspace = await store.open({ folder: box.project, create: true });
  const request = { type: "write_file", payload: { path }, session: "sess", turn, toolCall: `call-${path}` };
  const id = await workspace.action(request, (action) => {
    box.write(path, content);
    return action?.id ?? "";
  });
  await workspace.close();
  await store.close();
  return id;
}

it("actions are listed, shown with the difference to the present state, and rolled back", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const id = await edited(box, "a.txt", "after\n");
  box.write("by-a-person.txt", "not the session's\n");
  await edited(box, "b.txt", "new\n");
  const listed = await box.call(["actions"]);
  const sessions = await box.call(["sessions"]);
  expect(sessions.stdout).toMatch(/^sess +\S.* +\(agent: agent\)\n$/);
  const session = (await box.call(["show", "sess"])).stdout;
  expect(session).toContain("command   (agent: agent)\n");
  expect(session).toContain("changes   1 created, 1 modified\n");
  expect(session).not.toContain("by-a-person");
  expect(listed.stdout).toMatch(/done +1 change +write_file: b\.txt\n.*done +1 change +write_file: a\.txt\n$/);
  expect((await box.call(["actions", "--limit", "1"])).stdout).toContain("… and 1 older one: --limit 0");
  expect((await box.call(["actions", "--session", "other"])).stderr).toContain("chronicle agents install");
  const all = JSON.parse((await box.call(["actions", "--turn", "turn-1", "--json"])).stdout) as { id: string }[];
  expect(all.map((one) => one.id)).toContain(id);
  const shown = await box.call(["actions", id.slice(0, 8)]);
  expect(shown.stdout).toContain(`action    ${id}\nwhat      write_file: a.txt\n`);
  expect(shown.stdout).toContain("turn      turn-1\ncall      call-a.txt\n");
  expect(shown.stdout).toContain("now       1 path differs from the state before the action\n  ~ a.txt");
  const dry = await box.call(["rollback", "call-a.txt", "--dry-run"]);
  expect(dry.stdout).toContain("would change: 1 modified\n");
  expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("after\n");
  const back = await box.call(["rollback", id, "--yes"]);
  expect(back).toMatchObject({ code: 0 });
  expect(back.stdout).toContain("rolled back: 1 modified\ntake it back: chronicle undo\n");
  expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("before\n");
  expect((await box.call(["actions", id])).stdout).toContain("now       as it was before\n");
  expect((await box.call(["undo", "--yes"])).stdout).toContain("restore: rollback of write_file: a.txt");
  expect((await box.call(["undo", "--yes"])).stdout).toContain("action: write_file: b.txt");
});

it("an unknown action is an error with a hint", async () => {
  using box = new Sandbox();
  box.write("a.txt", "x");
  await box.call(["init"]);
  for (const command of ["actions", "rollback"]) {
    const result = await box.call([command, "feedface"]);
    expect(result.code).toBe(3);
    expect(result.stderr).toContain('there is no action "feedface"');
    expect(result.stderr).toContain("`chronicle actions` lists them");
  }
  expect(await box.call(["rollback"])).toMatchObject({ code: 2 });
  expect((await box.call(["actions"])).stdout).toBe("");
});

it("a change while two actions were open is reported by both, and belongs to neither", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  const workspace = await store.open({ folder: box.project, create: true });
  const request = { type: "run_command", payload: { command: "make" }, turn: "t" };
  const [one, two] = [
    await workspace.snapshotAction({ ...request, session: "one" }),
    await workspace.snapshotAction({ ...request, session: "two" }),
  ];
  box.write("a.txt", "by whom?\n");
  for (const action of [one, two]) await workspace.finishAction(action?.id ?? "");
  await workspace.close();
  await store.close();
  const told = "1 path may be the work of others. They belong to nobody, and no undo takes them back: a.txt\n";
  expect((await box.must(["changes", "--session", "one"])).stdout).toContain(
    `no change certainly belongs to this work\n${told}chronicle undo --file PATH takes one back\n`,
  );
  expect((await box.must(["actions", two?.id ?? ""])).stdout).toContain(told);
});

it("rollback reports outside paths that it does not touch, and restores them with --outside", async () => {
  using box = new Sandbox();
  box.write("../other.conf", "before\n");
  const other = join(box.folder, "other.conf");
  const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  const workspace = await store.open({ folder: box.project, create: true });
  await workspace.action({ type: "write_file", payload: { path: other }, toolCall: "call-1" }, () => {
    box.write("../other.conf", "after\n");
  });
  await workspace.close();
  await store.close();
  const shown = (await box.must(["actions", "call-1"])).stdout;
  expect(shown).toContain("the workspace is as it was before; the paths outside were not compared\n");
  const left = await box.must(["rollback", "call-1", "--yes"]);
  expect(left.stdout).toContain(`not touched, outside of the folder: ${other}\n`);
  const named = await box.must(["rollback", "call-1", "--outside", other, "--yes"]);
  expect(named.stdout).not.toContain("not touched");
  expect(readFileSync(other, "utf8")).toBe("before\n");
});

it("a complete turn id is not taken for a prefix of another one", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  for (const turn of ["3f2a-1", "3f2a-12", "3f2a-20"]) await edited(box, `${turn}.txt`, "new\n", turn);
  const turns = async (...asked: string[]): Promise<string[]> => {
    const listed = await box.must(["actions", "--turn", ...asked, "--json"]);
    return (JSON.parse(listed.stdout) as { turn: string }[]).map(({ turn }) => turn);
  };
  expect(await turns("3f2a-1")).toEqual(["3f2a-1"]);
  expect(await turns("3f2a-2")).toEqual(["3f2a-20"]);
  expect(await turns("")).toEqual([]);
  const ambiguous = await box.call(["actions", "--turn", "3f2a"]);
  expect(ambiguous).toMatchObject({ code: 2, stdout: "" });
  expect(ambiguous.stderr).toContain("3f2a is the beginning of 3 turns");
});

it("an ignored file that a tool has written is reported as created", async () => {
  using box = new Sandbox();
  box.write(".gitignore", "*.log\n");
  box.write(".git/HEAD", "ref: refs/heads/main\n");
  box.write("a.txt", "a");
  await box.must(["init"]);
  const id = await edited(box, "x.log", "hi\n");
  expect((await box.must(["actions", id])).stdout).toContain(
    "left out  1 path that the rules leave out was created; undo removes it: x.log\n",
  );
});
