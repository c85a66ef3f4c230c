import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DoctorShape } from "../../src/api/store-api.ts";
import { ALICE, BOB, hasPeople, People } from "../helpers/people.ts";

/** Hides `/proc` from a command, as a system without it (macOS, some chroots) does. */
const WITHOUT_PROC = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"];
const canHideProc = hasPeople && spawnSync(WITHOUT_PROC[0] ?? "", [...WITHOUT_PROC.slice(1), "true"]).status === 0;

const READING = ["status", "log", "files", "cat a", "diff 0 latest", "history a", "sessions", "workspaces", "list"];
const MAKE = "echo one > a; chronicle init; chronicle run -- sh -c 'echo two > a'";

/** The folder of Alice's one workspace. */
function workspaceOf(people: People): string {
  const all = join(people.store(ALICE), "workspaces");
  return join(all, readdirSync(all).find((name) => !name.includes(".")) ?? "");
}

function headOf(people: People): string {
  const heads = join(people.config(ALICE), "heads");
  return join(heads, readdirSync(heads).find((name) => !name.includes(".")) ?? "");
}

function access(people: People, uid: number): DoctorShape["checks"][number] | undefined {
  const { out } = people.run(uid, "chronicle doctor --json", { home: ALICE });
  return (JSON.parse(out) as DoctorShape).checks.find(({ name }) => name === "access");
}

describe.skipIf(!hasPeople)("a file of root in a user's store", { timeout: 200_000 }, () => {
  it("that is the signed head stops nothing, and is reported with `chronicle doctor`", () => {
    using people = new People();
    people.as(ALICE, MAKE);
    const head = headOf(people);
    chownSync(head, 0, 0);
    for (const words of READING) {
      expect([words, people.run(ALICE, `chronicle ${words}`)]).toMatchObject([words, { code: 0 }]);
    }
    const { code, out } = people.run(ALICE, "chronicle run -- sh -c 'echo three > a'");
    expect(code).toBe(1);
    expect(out).toContain("not signed");
    expect(out).toContain(`${head} cannot be read: EACCES`);
    expect(out).toContain("chronicle doctor");
    expect(out).not.toContain("--accept");
    expect(people.run(ALICE, "chronicle undo; cat a").out).toContain("taken back");
    expect(people.as(ALICE, "cat a")).toBe("two\n");
    expect(people.run(ALICE, "chronicle verify").out).toContain(`${head} cannot be read`);
    // Once the head is given back, everything is signed as before.
    chownSync(head, ALICE, ALICE);
    people.as(ALICE, "echo four > a; chronicle snapshot");
    expect(people.as(ALICE, "chronicle verify")).toContain("compared with the signed head");
  });

  it.for([
    ["the list of folders", "cache/roots.json", 0],
    ["the whereabouts", "whereabouts.json", 0],
    ["the index", "index.db", 0],
    ["the cache of stats", "stat.cache", 0],
  ] as const)("that can be made again stops nothing: %s", ([, name]) => {
    using people = new People();
    people.as(ALICE, MAKE);
    const path = name.includes("/") ? join(people.store(ALICE), name) : join(workspaceOf(people), name);
    chownSync(path, 0, 0);
    chmodSync(path, 0o600);
    for (const words of [...READING, "run -- sh -c 'echo x > a'", "undo"]) {
      expect([words, people.run(ALICE, `chronicle ${words}`)]).toMatchObject([words, { code: 0 }]);
    }
  });

  it("that is needed and cannot be made again is reported with `chronicle doctor`", () => {
    using people = new People();
    people.as(ALICE, MAKE);
    chownSync(join(workspaceOf(people), "lock.db"), 0, 0);
    const { out } = people.run(ALICE, "chronicle run -- true");
    expect(out).toContain("chronicle doctor");
    expect(out).not.toContain("test write");
  });

  it("is named by root's own doctor, too, if a whole folder in the user's home belongs to root", () => {
    using people = new People();
    people.as(ALICE, MAKE);
    spawnSync("chown", ["-R", "0:0", people.config(ALICE)]);
    const hint = `chown -R ${ALICE} ${people.config(ALICE)}`;
    expect(access(people, 0)).toMatchObject({ ok: false, hint });
    expect(access(people, ALICE)).toMatchObject({ ok: false, hint: `sudo ${hint}` });
  });
});

describe.skipIf(!canHideProc)(
  "root in a user's store, on a system where root cannot give files away",
  { timeout: 200_000 },
  () => {
    it.for([["a new store"], ["the user's store"]])("leaves no file of root in the user's home: %s", ([which]) => {
      using people = new People();
      people.as(ALICE, which === "a new store" ? "echo one > a" : MAKE);
      const how = { home: ALICE, within: WITHOUT_PROC };
      for (const words of [
        "init",
        "run -- touch b",
        "snapshot",
        "put c --text x",
        "gc",
        "compact",
        "verify",
        "status",
      ]) {
        const { out } = people.run(0, `chronicle ${words}`, how);
        expect([words, people.ownedBy(0, people.home(ALICE)), out]).toEqual([words, [], out]);
      }
      const { code, out } = people.run(0, "chronicle snapshot", how);
      if (which === "the user's store") {
        expect(code).toBe(6);
        expect(out).toContain(`belongs to user ${ALICE}`);
        expect(out).toContain(`sudo -u '#${ALICE}' chronicle`);
        for (const words of READING) {
          expect([words, people.run(0, `chronicle ${words}`, how)]).toMatchObject([words, { code: 0 }]);
        }
      }
      people.as(ALICE, "chronicle init; chronicle snapshot; chronicle verify");
    });

    it("writes into its own store", () => {
      using people = new People();
      people.as(0, "chronicle init; chronicle status", { within: WITHOUT_PROC });
    });
  },
);

describe.skipIf(!hasPeople)("a store of another user", { timeout: 200_000 }, () => {
  it("can be read if its files can be read, and is not written even if everybody may write into its folders", () => {
    using people = new People();
    people.as(ALICE, MAKE);
    const env = { CHRONICLE_HOME: people.store(ALICE) };
    for (const path of [
      people.home(ALICE),
      join(people.home(ALICE), ".local"),
      join(people.home(ALICE), ".local/state"),
    ])
      chmodSync(path, 0o755);
    spawnSync("chmod", ["-R", "a+rwX", people.store(ALICE)]);
    // The first reader would make these files again.
    rmSync(join(workspaceOf(people), "index.db"), { force: true });
    rmSync(join(people.store(ALICE), "cache"), { recursive: true });
    for (const words of READING) {
      expect([words, people.run(BOB, `chronicle ${words}`, { env })]).toMatchObject([words, { code: 0 }]);
    }
    expect(people.ownedBy(BOB, people.store(ALICE))).toEqual([]);
    const project = join(people.home(BOB), "project");
    mkdirSync(project);
    chownSync(project, BOB, BOB);
    for (const words of ["init", "snapshot", "run -- touch b", "gc", "forget -y x", "undo"]) {
      const { code, out } = people.run(BOB, `chronicle ${words}`, {
        env,
        cwd: words === "init" ? project : people.project,
      });
      expect([words, code, out]).toEqual([words, words.startsWith("run") ? 125 : 6, out]);
      expect(out).toContain(`belongs to user ${ALICE}`);
      expect(out).toContain("--store");
    }
    expect(people.ownedBy(BOB, people.store(ALICE))).toEqual([]);
    people.as(ALICE, "chronicle status; chronicle snapshot; chronicle verify");
  });

  it("is not a store that its user has begun in a folder of root (the volume of a container)", () => {
    using people = new People();
    const volume = join(people.folder, "volume");
    mkdirSync(volume);
    chmodSync(volume, 0o777);
    const env = { CHRONICLE_HOME: volume };
    people.as(ALICE, `${MAKE}; chronicle undo; chronicle gc; chronicle verify`, { env });
    expect(
      (JSON.parse(people.run(ALICE, "chronicle doctor --json", { env }).out) as DoctorShape).checks,
    ).toContainEqual(expect.objectContaining({ name: "access", ok: true }));
  });
});

describe.skipIf(!hasPeople)("reading", { timeout: 200_000 }, () => {
  it("works without writing, whether an index is missing or behind", () => {
    using people = new People();
    people.as(ALICE, MAKE);
    const index = join(workspaceOf(people), "index.db");
    people.as(ALICE, `cp ${index} ~/old; echo three > a; chronicle snapshot; cp ~/old ${index}; rm -f ${index}-*`);
    const readOnly = `chmod -R a-w ${people.home(ALICE)}`;
    people.as(ALICE, readOnly);
    for (const words of [...READING, "verify"]) {
      expect([words, people.run(ALICE, `chronicle ${words}`)]).toMatchObject([words, { code: 0 }]);
    }
    people.as(ALICE, `chmod -R u+w ~; rm ${index} -r ${people.store(ALICE)}/cache; ${readOnly}`);
    for (const words of [...READING, "verify"]) {
      expect([words, people.run(ALICE, `chronicle ${words}`)]).toMatchObject([words, { code: 0 }]);
    }
    people.as(ALICE, "chmod -R u+w ~");
  });

  it("finds no store in a home that takes no writes, where init fails for lack of permission", () => {
    using people = new People();
    chmodSync(people.home(ALICE), 0o555);
    expect(people.run(ALICE, "chronicle status")).toMatchObject({ code: 3 });
    expect(people.run(ALICE, "chronicle workspaces")).toMatchObject({ code: 0 });
    const { code, out } = people.run(ALICE, "chronicle init");
    expect(code).toBe(1);
    expect(out).toContain("no permission");
  });
});
