import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, lstatSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DoctorShape } from "../../src/api/store-api.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { isRoot } from "../helpers/trouble.ts";

/** The owner of the store: a user without any rights of root. */
const OWNER = 65_534;

interface Ran {
  readonly code: number | null;
  readonly out: string;
}

/** A user's project, store and configuration folder, in which root runs commands as well. */
class Home implements Disposable {
  readonly box = new Sandbox();

  constructor() {
    chmodSync(dirname(dirname(chronicleBin())), 0o755);
    this.box.write("a", "one\n");
    chmodSync(this.box.folder, 0o755);
    if (isRoot) execFileSync("chown", ["-R", `${OWNER}:${OWNER}`, this.box.folder]);
  }

  [Symbol.dispose](): void {
    this.box[Symbol.dispose]();
  }

  /** Runs a command as the owner. Without root, the owner is the user of this test run. */
  owner(...words: string[]): Ran {
    return this.#run(words, isRoot ? { uid: OWNER, gid: OWNER } : {});
  }

  root(...words: string[]): Ran {
    return this.#run(words, {});
  }

  /** The owner edits a file. */
  edit(content: string): void {
    writeFileSync(join(this.box.project, "a"), content);
  }

  doctor(as: "owner" | "root" = "owner"): DoctorShape["checks"][number] | undefined {
    const { checks } = JSON.parse(this[as]("doctor", "--json").out) as DoctorShape;
    return checks.find(({ name }) => name === "access");
  }

  /** Returns what belongs to root in the folders of the store and of the configuration. */
  rootsFiles(): string[] {
    return ["store", "config", "state", "home"].flatMap((name) => ownedByRoot(join(this.box.folder, name)));
  }

  #run(words: readonly string[], as: { readonly uid?: number; readonly gid?: number }): Ran {
    const { NODE_COMPILE_CACHE: _, ...env } = this.box.env();
    const { project } = this.box;
    const ran = spawnSync(process.execPath, [chronicleBin(), ...words], { cwd: project, env, encoding: "utf8", ...as });
    if (ran.error !== undefined) throw ran.error;
    return { code: ran.status, out: ran.stdout + ran.stderr };
  }
}

function ownedByRoot(path: string): string[] {
  if (!existsSync(path)) return [];
  const stat = lstatSync(path);
  const below = stat.isDirectory() ? readdirSync(path).flatMap((name) => ownedByRoot(join(path, name))) : [];
  return stat.uid === 0 ? [path, ...below] : below;
}

/** Every command that makes or replaces a file of the store or of the configuration folder. */
const COMMANDS: readonly (readonly string[])[] = [
  ["status"],
  ["snapshot"],
  ["run", "--", "sh", "-c", "echo b > b; head -c 9000000 /dev/urandom > big"],
  ["undo"],
  ["redo"],
  ["pin", "1"],
  ["rebuild"],
  ["gc"],
  ["compact"],
  ["restore", "1"],
  ["transaction", "begin"],
  ["token", "create", "--role", "agent"],
  ["agents", "install", "claude"],
  ["record", "put", "x", "{}"],
  ["verify"],
];

// `skipIf`: only root can leave root's files in a user's store.
describe("commands that root runs once in a user's store", { timeout: 400_000 }, () => {
  it.skipIf(!isRoot).for([["a new store"], ["a store of the user's"]])(
    "leave no file that the owner may not use: %s",
    ([which]) => {
      using home = new Home();
      const first = which === "a new store" ? home.root("init") : home.owner("init");
      expect(first).toMatchObject({ code: 0 });
      for (const words of COMMANDS) {
        home.edit(`${words.join(" ")}\n`);
        const { code, out } = home.root(...words);
        expect([words, code, out]).toEqual([words, 0, out]);
        expect([words, home.rootsFiles()]).toEqual([words, []]);
      }
      home.edit("the owner's\n");
      for (const word of ["snapshot", "status", "verify"]) {
        expect([word, home.owner(word)]).toEqual([word, expect.objectContaining({ code: 0 })]);
      }
      expect(home.doctor()).toMatchObject({ ok: true });
      expect(home.doctor("root")).toMatchObject({ ok: true });
    },
  );

  it.skipIf(!isRoot)("a long-lived process of root is refused in it, with the way to run it", () => {
    using home = new Home();
    home.owner("init");
    const { code, out } = home.root("serve");
    expect(code).not.toBe(0);
    expect(out).toContain(`sudo -u '#${OWNER}' chronicle`);
    expect(home.rootsFiles()).toEqual([]);
  });

  it.skipIf(!isRoot)("files that root left there are named by doctor, with the command that gives them back", () => {
    using home = new Home();
    home.owner("init");
    const heads = join(home.box.folder, "config", "chronicle", "heads");
    const [head = ""] = readdirSync(heads);
    chownSync(join(heads, head), 0, 0);
    const { code, out } = home.owner("status");
    // A head that cannot be read does not stop commands that only look: see finding 48.
    expect(code).toBe(0);
    expect(out).toContain(`${join(heads, head)} cannot be read: EACCES`);
    expect(out).toContain("chronicle doctor");
    const folder = join(home.box.folder, "config", "chronicle");
    const told = {
      ok: false,
      detail: `${join(heads, head)} belongs to root`,
      hint: `sudo chown -R ${OWNER} ${folder}`,
    };
    expect(home.doctor()).toMatchObject(told);
    expect(home.doctor("root")).toMatchObject({ ...told, hint: `chown -R ${OWNER} ${folder}` });
    // Now the store cannot be opened at all.
    chownSync(home.box.store, 0, 0);
    expect(home.doctor()?.detail).toContain(`${home.box.store} belongs to root`);
  });

  it("a file that its own user may not read is named by doctor, with the command that mends it", () => {
    using home = new Home();
    home.owner("init");
    const key = join(home.box.folder, "config", "chronicle", "key.pem");
    chmodSync(key, 0);
    const hint = `chmod -R u+rwX ${dirname(key)}`;
    expect(home.doctor()).toMatchObject({ ok: false, detail: `${key} may not be read and written (0)`, hint });
    rmSync(key);
    expect(home.doctor()).toMatchObject({ ok: true });
  });
});
