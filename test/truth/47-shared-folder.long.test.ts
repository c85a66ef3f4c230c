import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { openStore } from "../../src/open.ts";
import { isRoot } from "../helpers/trouble.ts";

/** Two people and the group that they share. They are ids only: none of them needs an entry in `/etc/passwd`. */
const ALICE = 61_001;
const BOB = 61_002;
const TEAM = 61_100;

/** A folder that several people work in. `dispose` removes everything. */
class Shared implements Disposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-shared-")));
  readonly project = join(this.folder, "project");

  constructor() {
    const bin = chronicleBin();
    for (const path of [this.folder, dirname(dirname(bin))]) chmodSync(path, 0o755);
    mkdirSync(this.project);
    for (const uid of [0, ALICE, BOB]) {
      mkdirSync(join(this.folder, `home-${uid}`));
      execFileSync("chown", [`${uid}:${uid}`, join(this.folder, `home-${uid}`)]);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs a shell script in the project as a user, with the umask that most systems have. */
  as(uid: number, script: string, how: { readonly home?: number } = {}): string {
    const { code, out } = this.try(uid, script, how);
    if (code !== 0) throw new Error(`${script} ended with ${code}: ${out}`);
    return out;
  }

  try(
    uid: number,
    script: string,
    { home = uid }: { readonly home?: number } = {},
  ): { code: number | null; out: string } {
    const groups = uid === 0 ? ["--groups=0"] : [`--groups=${TEAM}`];
    const chronicle = `chronicle() { "${process.execPath}" "${chronicleBin()}" "$@"; }`;
    const ran = spawnSync(
      "setpriv",
      [`--reuid=${uid}`, `--regid=${uid}`, ...groups, "sh", "-ec", `umask 022; ${chronicle}; ${script}`],
      {
        cwd: this.project,
        env: { CI: "true", PATH: process.env["PATH"], HOME: join(this.folder, `home-${home}`), LC_ALL: "C.UTF-8" },
        encoding: "utf8",
      },
    );
    if (ran.error !== undefined) throw ran.error;
    return { code: ran.status, out: ran.stdout + ran.stderr };
  }

  /** Owner, group and mode, as `stat` writes them. */
  stat(path: string): string {
    return execFileSync("stat", ["-c", "%u:%g %a", join(this.project, path)], { encoding: "utf8" }).trim();
  }

  /** Returns every path in the project whose name begins with `.chronicle`. */
  left(folder = this.project): string[] {
    return readdirSync(folder).flatMap((name) => {
      const path = join(folder, name);
      const inner = lstatSync(path).isDirectory() ? this.left(path) : [];
      return name.startsWith(".chronicle") ? [path, ...inner] : inner;
    });
  }
}

/** Only root can make folders that belong to several people. */
const needsRoot = !isRoot || spawnSync("setpriv", ["--version"]).status !== 0;
const needsAcl = needsRoot || !existsSync("/usr/bin/setfacl");

const MAKE = `
  mkdir -p docs/deep; echo one > docs/a; echo two > docs/deep/b; echo three > docs/c
  chmod 660 docs/a docs/c; chmod 664 docs/deep/b; chronicle init
`;
const BREAK = `chronicle run -- sh -c 'echo changed > docs/a; rm -r docs/deep; rm docs/c'`;

describe.skipIf(needsRoot)("undo in a folder with setgid", { timeout: 120_000 }, () => {
  function teamFolder(): Shared {
    const shared = new Shared();
    execFileSync("chown", [`${ALICE}:${TEAM}`, shared.project]);
    chmodSync(shared.project, 0o2770);
    return shared;
  }

  it("gives files that it brings back the group of the folder, and folders also setgid", () => {
    using shared = teamFolder();
    shared.as(ALICE, MAKE);
    expect(shared.stat("docs/deep")).toBe(`${ALICE}:${TEAM} 2755`);
    shared.as(ALICE, BREAK);
    shared.as(ALICE, "chronicle undo");
    expect(["docs/a", "docs/c", "docs/deep", "docs/deep/b"].map((path) => shared.stat(path))).toEqual([
      `${ALICE}:${TEAM} 660`,
      `${ALICE}:${TEAM} 660`,
      `${ALICE}:${TEAM} 2755`,
      `${ALICE}:${TEAM} 664`,
    ]);
    shared.as(BOB, "echo more >> docs/a; echo more >> docs/c; echo more >> docs/deep/b");
    expect(shared.left()).toEqual([]);
    expect(shared.as(ALICE, "chronicle diff latest")).toContain("docs/a");
  });

  it("records no further change if a folder that it brings back inherits setgid", () => {
    using shared = teamFolder();
    shared.as(ALICE, `chmod g-s .; ${MAKE} chgrp ${TEAM} docs; chmod g+s . docs; ${BREAK}`);
    shared.as(ALICE, "chronicle undo");
    expect(shared.stat("docs/deep")).toBe(`${ALICE}:${TEAM} 2755`);
    // The folder was made, removed and brought back: it has three iterations, and no fourth.
    expect(shared.as(ALICE, "chronicle snapshot; chronicle files")).toMatch(/2755 +@3 +docs\/deep\n/);
    expect(shared.as(ALICE, "chronicle verify")).toContain("ok");
  });

  it("brings a folder's own setgid and sticky bit back, and redo removes them again", () => {
    using shared = teamFolder();
    shared.as(ALICE, `${MAKE} chmod 3770 docs; chronicle snapshot`);
    shared.as(ALICE, "chronicle run -- sh -c 'chmod g-s,-t docs; chmod 700 docs'");
    expect(shared.stat("docs")).toBe(`${ALICE}:${TEAM} 700`);
    shared.as(ALICE, "chronicle undo");
    expect(shared.stat("docs")).toBe(`${ALICE}:${TEAM} 3770`);
    shared.as(ALICE, "chronicle redo");
    expect(shared.stat("docs")).toBe(`${ALICE}:${TEAM} 700`);
  });

  it("keeps the group of a file that it replaces, and says who owned the file", () => {
    using shared = teamFolder();
    shared.as(ALICE, MAKE);
    // A file of Bob in a folder whose new files get another group.
    shared.as(ALICE, `mkdir plain; chmod 777 plain; chmod g-s plain; chgrp ${ALICE} plain`);
    shared.as(BOB, `echo bob > plain/f; chgrp ${TEAM} plain/f; chmod 664 plain/f`);
    shared.as(ALICE, "chronicle snapshot; chronicle run -- sh -c 'echo changed > plain/f'");
    const told = shared.as(ALICE, "chronicle undo");
    expect(shared.stat("plain/f")).toBe(`${ALICE}:${TEAM} 664`);
    expect(told).toContain(`plain/f belonged to user ${BOB}`);
  });
});

describe.skipIf(needsAcl)("undo in a folder with a default ACL (where `setfacl` is)", { timeout: 120_000 }, () => {
  it.each(["a few files", "many files", "a subfolder alone has it", "a further root"])(
    "gives files that it brings back the ACL of the folder: %s",
    (which) => {
      using shared = new Shared();
      execFileSync("chown", [`${ALICE}:${ALICE}`, shared.project]);
      chmodSync(shared.project, 0o750);
      const acl = `u:${BOB}:rwX,m::rwX`;
      const other = join(shared.folder, "other");
      const set = (path: string): void => void execFileSync("setfacl", ["-R", "-m", acl, "-d", "-m", acl, path]);
      set(shared.project);
      const count = which === "many files" ? 300 : 3;
      let at = "docs";
      if (which === "a subfolder alone has it") {
        shared.as(ALICE, "mkdir docs");
        execFileSync("setfacl", ["-k", shared.project]);
      } else if (which === "a further root") {
        mkdirSync(other);
        execFileSync("chown", [`${ALICE}:${ALICE}`, other]);
        set(other);
        at = join(other, "docs");
      }
      const roots = at === "docs" ? "" : ` . ${other}`;
      const make = `mkdir -p ${at}/deep; for i in $(seq ${count}); do echo $i > ${at}/f$i; done; echo x > ${at}/deep/x`;
      shared.as(ALICE, `${make}; chronicle init${roots}`);
      const folder = at === "docs" ? join(shared.project, "docs") : at;
      const acls = (): string =>
        execFileSync("getfacl", ["-R", "-p", "-n", folder], { encoding: "utf8" }).replaceAll(/^# .*/gm, "");
      const before = acls();
      shared.as(
        ALICE,
        `chronicle run -- sh -c 'rm -r ${at}/deep; for i in $(seq 2 ${count}); do rm ${at}/f$i; done; echo no > ${at}/f1'`,
      );
      expect(acls()).not.toBe(before);
      shared.as(ALICE, "chronicle undo");
      expect(acls()).toBe(before);
      shared.as(BOB, `cat ${at}/f1 ${at}/f2 ${at}/deep/x; echo bob >> ${at}/f2`);
      expect(shared.left()).toEqual([]);
    },
  );
});

describe.skipIf(needsAcl)("writes of one process into a folder, again and again (where `setfacl` is)", () => {
  it("get the default ACL that the folder has at that time", async () => {
    using shared = new Shared();
    const docs = join(shared.project, "docs");
    mkdirSync(docs);
    const store = await openStore({ home: join(shared.folder, "store"), configFolder: join(shared.folder, "c") });
    const { workspace } = await store.init({ roots: [shared.project] });
    const isShared = async (name: string, text: string): Promise<boolean> => {
      await workspace.putFile(`docs/${name}`, Buffer.from(text));
      return execFileSync("getfacl", ["-n", "-p", join(docs, name)], { encoding: "utf8" }).includes(`user:${BOB}:rw-`);
    };
    const rounds = async (name: string, count: number): Promise<boolean[]> => {
      const found: boolean[] = [];
      for (let i = 0; i < count; i += 1) found.push(await isShared(name, `${name} ${i}`));
      return found;
    };
    expect(await rounds("before", 5)).toEqual(Array.from({ length: 5 }, () => false));
    execFileSync("setfacl", ["-d", "-m", `u:${BOB}:rw,m::rwX`, docs]);
    expect(await rounds("after", 5)).toEqual(Array.from({ length: 5 }, () => true));
    execFileSync("setfacl", ["-k", docs]);
    expect(await rounds("later", 5)).toEqual(Array.from({ length: 5 }, () => false));
    await workspace.close();
    await store.close();
    expect(shared.left()).toEqual([]);
  });
});

describe.skipIf(needsRoot)("undo by root in another user's folder", { timeout: 120_000 }, () => {
  it("leaves files that it replaces or brings back to that user, and folders, too", () => {
    using shared = new Shared();
    execFileSync("chown", [`${ALICE}:${ALICE}`, shared.project]);
    shared.as(ALICE, `${MAKE} chmod 600 docs/a docs/c; chronicle snapshot; ${BREAK}`);
    shared.as(0, "chronicle undo", { home: ALICE });
    const paths = ["docs/a", "docs/c", "docs/deep", "docs/deep/b"];
    expect(paths.map((path) => shared.stat(path))).toEqual([
      `${ALICE}:${ALICE} 600`,
      `${ALICE}:${ALICE} 600`,
      `${ALICE}:${ALICE} 755`,
      `${ALICE}:${ALICE} 664`,
    ]);
    shared.as(ALICE, "cat docs/a docs/c docs/deep/b; chronicle status");
  });

  it("gives a replaced file to its owner also in a folder of somebody else", () => {
    using shared = new Shared();
    execFileSync("chown", [`${ALICE}:${TEAM}`, shared.project]);
    chmodSync(shared.project, 0o2775);
    shared.as(BOB, "echo bob > f; chmod 640 f");
    shared.as(0, "chronicle init; chronicle run -- sh -c 'echo root > f'; chronicle undo");
    expect(shared.stat("f")).toBe(`${BOB}:${TEAM} 640`);
  });
});

describe.skipIf(needsRoot)("a staging folder that a killed process has left", { timeout: 120_000 }, () => {
  it("is never recorded", () => {
    using shared = new Shared();
    execFileSync("chown", [`${ALICE}:${ALICE}`, shared.project]);
    shared.as(
      ALICE,
      `${MAKE} mkdir docs/.chronicle-tmp-01ARZ3NDEKTSV4RRFFQ69G5FAV; echo x > docs/.chronicle-tmp-01ARZ3NDEKTSV4RRFFQ69G5FAV/0`,
    );
    shared.as(ALICE, "chronicle snapshot");
    expect(shared.as(ALICE, "chronicle files; chronicle diff latest~1 latest")).not.toContain("chronicle-tmp");
  });
});
