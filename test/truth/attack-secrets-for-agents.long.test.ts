import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { RestoreShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { restoreHere } from "../../src/open.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { lose } from "../helpers/lost-version.ts";
import { Project } from "../helpers/project.ts";
import { ServedStore } from "../helpers/served-store.ts";

const NEEDLE = "hosted-s3cr3t";
const SECRET = `TOKEN=${NEEDLE}\n`;
/** Larger than what a client fetches in advance. */
const LARGE = `KEY=${NEEDLE}${"x".repeat(400_000)}\n`;
const AGENT = { CHRONICLE_ROLE: "agent" };

/** Every file below a folder, with its content. */
function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), readFileSync(path, "utf8")];
    }),
  );
}

function left(result: RestoreShape): string[] {
  return result.skipped.map(({ path, reason }) => `${path} ${reason}`).toSorted();
}

/** A sandbox with a workspace without a folder, which holds a secret and an ordinary file. */
async function withHosted(): Promise<Sandbox> {
  const box = new Sandbox();
  await box.must(["workspaces", "create", "hosted"]);
  await box.must(["-w", "hosted", "put", ".env"], { input: SECRET });
  await box.must(["-w", "hosted", "put", "deep/id_rsa"], { input: LARGE });
  await box.must(["-w", "hosted", "put", "a.txt"], { input: "ordinary\n" });
  return box;
}

describe("Truth: a secret's bytes go only to people, also if a command would write them to a folder", () => {
  it("`restore --to` under `run` leaves secrets out, names them, and restores the rest", async () => {
    using box = await withHosted();
    const to = join(box.folder, "leak");
    const [node = "", ...words] = box.command;
    const ran = box.run(["run", "--", node, ...words, "-w", "hosted", "restore", "now", "--to", to]);
    expect(ran.code).toBe(1);
    expect(filesIn(to)).toEqual({ "a.txt": "ordinary\n" });
    expect(ran.stdout).toMatch(/! \.env \(protected: .*secret/);
    expect(ran.stdout).toContain("deep/id_rsa");
  });

  it("an earlier moment gives no secrets to `restore --to` and `cat` whose parent processes alone tell of the run", async () => {
    using box = new Sandbox();
    box.write(".env", SECRET);
    box.write("a.txt", "ordinary\n");
    await box.must(["init"]);
    box.write(".env", "TOKEN=later\n");
    const to = join(box.folder, "leak");
    const words = box.command.join(" ");
    const clean = `env -i CI=true HOME=${box.folder}/home XDG_CONFIG_HOME=${box.folder}/config CHRONICLE_HOME=${box.store}`;
    const script = `${clean} ${words} restore baseline --to ${to}; echo "exit $?"; ${clean} ${words} cat .env@1; echo "exit $?"`;
    const { stdout, stderr } = box.run(["run", "--", "sh", "-c", script]);
    expect(stdout.match(/exit \d/g)).toEqual(["exit 1", "exit 6"]);
    expect(filesIn(to)).toEqual({ "a.txt": "ordinary\n" });
    expect(stdout + stderr).not.toContain(NEEDLE);
  });

  /** Runs commands in a run without the run's environment, so that only their parent processes tell of the run. */
  async function asHooked(box: Sandbox, ...lines: readonly string[]) {
    const clean = `env -i CI=true HOME=${box.folder}/home XDG_CONFIG_HOME=${box.folder}/config CHRONICLE_HOME=${box.store}`;
    const script = lines.map((line) => `${clean} ${box.command.join(" ")} ${line}; echo "exit $?"`).join("\n");
    const { stdout, stderr } = box.start(["run", "--", "sh", "-c", script]);
    const said = await Promise.all([text(stdout), text(stderr)]);
    return { codes: said[0].match(/exit \d/g) ?? [], said: said.join("") };
  }

  it("`versions --show` gives a replica's version of a secret to a person, and to no agent", async () => {
    using box = new Sandbox();
    box.write(".env", "TOKEN=here\n");
    box.write("a.txt", "here\n");
    await box.must(["init"]);
    const { workspace } = (await box.json(["status"])).value as { workspace: string };
    await lose(box, workspace, { name: ".env", content: SECRET });
    await lose(box, workspace, { name: "a.txt", content: "ordinary\n", localSeq: 18 });
    const [secret, ordinary] = ["versions --show 0fd1:17", "versions --show 0fd1:18"];
    expect((await box.call(secret.split(" "), { env: AGENT })).code).toBe(6);
    expect((await box.must(secret.split(" "))).stdout).toBe(SECRET);
    const { codes, said } = await asHooked(box, secret, ordinary);
    expect(said).not.toContain(NEEDLE);
    expect(said).toContain("ordinary\n");
    expect(codes).toEqual(["exit 6", "exit 0"]);
  });

  it("`mv` gives a secret no ordinary name, if only its parent processes tell of the run", async () => {
    using box = await withHosted();
    const { codes, said } = await asHooked(
      box,
      "-w hosted mv .env env.txt",
      "-w hosted cat env.txt",
      "-w hosted mv a.txt b.txt",
    );
    expect(said).not.toContain(NEEDLE);
    expect(codes).toEqual(["exit 6", "exit 3", "exit 0"]);
  });

  it("a server's secrets are kept from an agent's command, whatever token it has", async () => {
    using box = new Sandbox();
    box.write("a.txt", "ordinary\n");
    await box.must(["init"]);
    await using on = await ServedStore.start();
    const { workspace: person } = await on.client("port").store.create({ name: "w" });
    await person.putFile(".env", Buffer.from(SECRET));
    await person.putFile("a.txt", Buffer.from("ordinary\n"));
    const there = `--remote ${on.socketUrl} -w w`;
    const ofSecret = [`${there} cat .env`, `${there} cat .env@1`, `${there} mv .env env.txt`];
    const { codes, said } = await asHooked(box, ...ofSecret, `${there} cat a.txt`);
    expect(said).not.toContain(NEEDLE);
    expect(codes).toEqual(["exit 6", "exit 6", "exit 6", "exit 0"]);
    expect((await box.must(["--remote", on.socketUrl, "-w", "w", "cat", ".env"])).stdout).toBe(SECRET);
  });

  it("a restore of nothing but a secret is refused, and makes no folder", async () => {
    using box = await withHosted();
    const to = join(box.folder, "leak");
    for (const more of [[], ["--dry-run"], ["--force"]]) {
      const line = ["-w", "hosted", "restore", "now", ".env", "--to", to, ...more];
      const { code, stderr } = await box.call(line, { env: AGENT });
      expect([code, stderr]).toEqual([6, expect.stringContaining("a secret by its name")]);
    }
    expect(existsSync(to)).toBe(false);
  });

  it("a dry run leaves out the same secrets, and makes no folder", async () => {
    using box = await withHosted();
    const to = join(box.folder, "leak");
    const line = ["-w", "hosted", "restore", "now", "--to", to, "--dry-run"];
    const { code, value } = await box.json(line, { env: AGENT });
    const told = value as RestoreShape;
    expect([code, left(told)]).toEqual([1, [".env protected", "deep/id_rsa protected"]]);
    expect(told.changes.map(({ path }) => path)).toEqual(["a.txt", "deep"]);
    expect(existsSync(to)).toBe(false);
  });

  it("a person gets everything", async () => {
    using box = await withHosted();
    const to = join(box.folder, "all");
    await box.must(["-w", "hosted", "restore", "now", "--to", to]);
    expect(filesIn(to)).toEqual({ ".env": SECRET, "a.txt": "ordinary\n", "deep/id_rsa": LARGE });
  });

  it("a fork gives an agent no secrets either, and neither do `mv` and `cat`", async () => {
    using box = await withHosted();
    const to = join(box.folder, "leak");
    await box.must(["workspaces", "create", "fork", "--from", "hosted"], { env: AGENT });
    expect((await box.call(["-w", "fork", "restore", "now", "--to", to], { env: AGENT })).code).toBe(1);
    expect(filesIn(to)).toEqual({ "a.txt": "ordinary\n" });
    expect((await box.call(["-w", "fork", "mv", ".env", "env.txt"], { env: AGENT })).code).toBe(6);
    expect((await box.call(["-w", "fork", "cat", ".env"], { env: AGENT })).code).toBe(6);
  });

  it("a restore also leaves out names that a person has added, even if the index says otherwise", async () => {
    await using project = new Project();
    project.write(".env", SECRET);
    project.write("notes.txt", SECRET);
    const person = await project.init();
    await person.configure({ protectedNames: ["notes.txt"] });
    const index = new DatabaseSync(join(project.home, "workspaces", person.id, "index.db"));
    index.exec("UPDATE iterations SET kind = 1 WHERE kind = 4");
    index.close();
    const agent = person.as({ role: "agent" });
    project.write("a.txt", "ordinary\n");
    await person.snapshot();
    const to = join(project.base, "leak");
    const result = await agent.restore("latest", { to });
    expect([left(result), filesIn(to)]).toEqual([[".env protected", "notes.txt protected"], { "a.txt": "ordinary\n" }]);
  });

  it.each(["sync start", "replicate"])("`%s --with-protected` is refused to an agent", async (verb) => {
    using box = await withHosted();
    const to = join(box.folder, "replica");
    const socket = join(box.folder, "none.sock");
    const line =
      verb === "replicate"
        ? ["-w", "hosted", "replicate", "--connect", socket, "--with-protected", to]
        : ["sync", "start", `unix:${socket}#hosted`, to, "--with-protected"];
    const { code, stderr } = await box.call(line, { env: AGENT });
    expect([code, stderr]).toEqual([6, expect.stringContaining("an agent may not do this")]);
    expect(existsSync(to)).toBe(false);
  });
});

describe("Truth: `restore --to` from a server", () => {
  /**
   * Starts a server with a secret, a large secret and an ordinary file. `agent` is the workspace as an agent's client
   * has it.
   */
  async function served(): Promise<{
    readonly on: ServedStore;
    readonly agent: WorkspaceApi;
    readonly person: WorkspaceApi;
  }> {
    const on = await ServedStore.start();
    const { workspace: person } = await on.client("port").store.create({ name: "w" });
    await person.putFile(".env", Buffer.from(SECRET));
    await person.putFile("deep/id_rsa", Buffer.from(LARGE));
    await person.putFile("a.txt", Buffer.from("ordinary\n"));
    return { on, person, agent: person.as({ role: "agent" }) };
  }

  it("restores the ordinary files and names the secrets", async () => {
    const { on, agent, person } = await served();
    await using _on = on;
    const to = join(on.base, "out");
    const dry = await restoreHere(agent, "now", { to, dryRun: true });
    expect([left(dry), existsSync(to)]).toEqual([[".env protected", "deep/id_rsa protected"], false]);
    const result = await restoreHere(agent, "now", { to });
    expect(left(result)).toEqual([".env protected", "deep/id_rsa protected"]);
    expect(filesIn(to)).toEqual({ "a.txt": "ordinary\n" });
    await expect(restoreHere(agent, "now", { to: join(on.base, "no"), paths: [".env"] })).rejects.toMatchObject({
      code: "FORBIDDEN",
    });
    const all = join(on.base, "all");
    expect(left(await restoreHere(person, "now", { to: all }))).toEqual([]);
    expect(filesIn(all)).toEqual({ ".env": SECRET, "a.txt": "ordinary\n", "deep/id_rsa": LARGE });
  });

  it("removes its own files if it fails, so that it can be tried again", async () => {
    const { on, person } = await served();
    await using _on = on;
    const to = join(on.base, "out");
    mkdirSync(to);
    let asked = 0;
    const failing = {
      files: person.files.bind(person),
      blob: (hash: string) => {
        asked += 1;
        return asked < 3 ? person.blob(hash) : Promise.reject(new Error("the line is cut"));
      },
    };
    await expect(restoreHere(failing, "now", { to })).rejects.toThrow("the line is cut");
    expect(readdirSync(to)).toEqual([]);
    await restoreHere(person, "now", { to });
    expect(Object.keys(filesIn(to))).toHaveLength(3);
  });

  it("can rely on a listing that marks the files that are secrets by their names", async () => {
    const { on, agent } = await served();
    await using _on = on;
    const { files } = await agent.files();
    expect(files.filter((one) => one.protected === true).map(({ path }) => path)).toEqual([".env", "deep/id_rsa"]);
  });
});
