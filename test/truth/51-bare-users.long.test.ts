import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ALICE, hasPeople, People, type Ran } from "../helpers/people.ts";

/**
 * Runs a script without `$HOME` as Alice. Like users of containers, she has no entry in `/etc/passwd`, so no home
 * folder is known.
 */
function homeless(people: People, script: string, env: Readonly<Record<string, string>> = {}): Ran {
  return people.run(ALICE, `unset HOME; ${script}`, { env });
}

describe.skipIf(!hasPeople)("a user whom the system does not list", { timeout: 120_000 }, () => {
  it.for(["init", "status", "run -- true", "doctor", "agents status"])(
    "gets an error that says which variables to set: %s",
    (words) => {
      using people = new People();
      const { code, out } = homeless(people, `chronicle ${words}`);
      expect([code, out]).toEqual([2, out]);
      expect(out).toContain("$HOME is not set");
      expect(out).toContain("CHRONICLE_HOME and XDG_CONFIG_HOME");
      expect(out).not.toMatch(/^ {4}at |SystemError/m);
    },
  );

  it("gets help and the version without a home folder", () => {
    using people = new People();
    expect(homeless(people, "chronicle --version")).toMatchObject({ code: 0 });
    expect(homeless(people, "chronicle -h")).toMatchObject({ code: 0 });
  });

  it("works without a home folder if both places are set, except for `agents install`", () => {
    using people = new People();
    const env = { CHRONICLE_HOME: join(people.home(ALICE), "s"), XDG_CONFIG_HOME: join(people.home(ALICE), "c") };
    const script = `
      echo one > a; chronicle init; chronicle run -- sh -c 'echo two > a'; chronicle undo; cat a; chronicle status; chronicle verify`;
    expect(homeless(people, script, env)).toMatchObject({ code: 0 });
    expect(homeless(people, "chronicle doctor", env).out).toContain("ok   access");
    expect(homeless(people, "chronicle agents status", env)).toMatchObject({ code: 0 });
    const { code, out } = homeless(people, "chronicle agents install claude", env);
    expect([code, out]).toEqual([2, out]);
    expect(out).toContain("$HOME is not set");
    expect(existsSync(join(people.project, ".claude"))).toBe(false);
  });
});

describe.skipIf(!hasPeople)("too few descriptors", { timeout: 300_000 }, () => {
  it("are reported as such, and not as missing permissions", () => {
    using people = new People();
    people.as(ALICE, "chronicle init");
    const told: string[] = [];
    for (let most = 24; most <= 40; most += 1) {
      for (const words of ["run -- true", "doctor"]) {
        // Node itself ends on a signal if it cannot even start.
        const { out } = people.run(ALICE, `ulimit -n ${most}; chronicle ${words} || true`);
        expect([most, words, out]).toEqual([
          most,
          words,
          expect.not.stringMatching(/check its permissions|mend its perm/),
        ]);
        told.push(out);
      }
    }
    expect(told.some((out) => out.includes("could not be started: ") && out.includes("ulimit -n"))).toBe(true);
  });
});

describe.skipIf(!hasPeople)("Chronicle's own folders in a tracked folder", { timeout: 120_000 }, () => {
  it("are never recorded, neither the store nor the key, also if a link leads to them", () => {
    using people = new People();
    symlinkSync("project", join(people.folder, "link"));
    for (const [store, config] of [
      [join(people.project, "store"), join(people.project, "conf")],
      [join(people.folder, "link", "store"), join(people.folder, "link", "conf")],
    ] as const) {
      const env = { CHRONICLE_HOME: store, XDG_CONFIG_HOME: config };
      people.as(ALICE, "rm -rf store conf; echo one > a; chronicle init; chronicle snapshot", { env });
      people.as(ALICE, "chronicle run -- sh -c 'echo two > a'; chronicle undo; chronicle verify", { env });
      expect(people.as(ALICE, "chronicle files", { env })).not.toMatch(/store|key\.pem|heads/);
    }
  });

  it("are refused as relative paths, because these would lead elsewhere from each folder", () => {
    using people = new People();
    mkdirSync(join(people.project, "sub"));
    const { code, out } = people.run(ALICE, "cd sub; chronicle init", { env: { CHRONICLE_HOME: "store" } });
    expect([code, out]).toEqual([2, expect.stringContaining("$CHRONICLE_HOME is no absolute path")]);
    expect(existsSync(join(people.project, "sub", "store"))).toBe(false);
  });
});

describe.skipIf(!hasPeople)("a key that cannot be made", { timeout: 120_000 }, () => {
  it.for([
    ["a configuration folder that is not writable", "mkdir ~/c; chmod 555 ~/c"],
    ["a folder of the kernel", "ln -s /proc/1 ~/c"],
    ["a file", "touch ~/c"],
    ["heads that cannot be kept", "mkdir -p ~/c/chronicle/heads; chmod 555 ~/c/chronicle/heads"],
  ])("is reported by init, which makes no workspace then: %s", ([, make]) => {
    using people = new People();
    const env = { XDG_CONFIG_HOME: join(people.home(ALICE), "c") };
    const { code, out } = people.run(ALICE, `${make}; echo one > a; chronicle init`, { env });
    expect([code, out]).toEqual([1, out]);
    expect(out).not.toContain("protected");
    expect(out).toContain("the signing key and the signed heads");
    expect(out).toContain("XDG_CONFIG_HOME");
    expect(people.run(ALICE, "chronicle workspaces", { env }).out).toContain("no workspaces");
  });

  it("is reported instead of 'already protected' where a history exists", () => {
    using people = new People();
    people.as(ALICE, "echo one > a; chronicle init; rm -r ~/.config/chronicle; chmod 555 ~/.config");
    const { code, out } = people.run(ALICE, "chronicle init");
    expect(code).toBe(1);
    expect(out).toContain("recorded, but not signed: ");
    expect(out).not.toContain("already protected");
  });
});
