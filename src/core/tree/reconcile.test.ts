import { describe, expect, it } from "vitest";
import type { Entry } from "../values/entry.ts";
import { sha256 } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";
import {
  mergeContents,
  reconcilePath,
  type Decision,
  type PathSides,
  type ReconcileMode,
  type ReconcileOptions,
} from "./reconcile.ts";

const MODES: readonly ReconcileMode[] = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];

const path = "p" as WorkspacePath;

function file(text: string, mode = 0o644, mtimeMs = 1): Entry {
  return { path, kind: "file", mode, size: text.length, mtimeMs, hash: sha256(text) };
}

const STATES: Readonly<Record<string, Entry | undefined>> = {
  "-": undefined,
  A: file("A"),
  B: file("B"),
  C: file("C"),
  "A+x": file("A", 0o755),
  "A+g": file("A", 0o664),
  "B+x": file("B", 0o755),
  "B+g": file("B", 0o664),
  "C+x": file("C", 0o755),
  "C+g": file("C", 0o664),
  dir: { path, kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined },
  "dir+g": { path, kind: "dir", mode: 0o775, size: 0, mtimeMs: 0, hash: undefined },
  link: { path, kind: "symlink", mode: 0o777, size: 1, mtimeMs: 1, hash: sha256("target") },
};

function nameOf(entry: Entry | undefined): string {
  const same = Object.entries(STATES).find(
    ([, state]) => state?.kind === entry?.kind && state?.mode === entry?.mode && state?.hash === entry?.hash,
  );
  return same?.[0] ?? "?";
}

/**
 * Formats a decision as a text, such as `take B` or `join A+x`. `[B]` means that B is kept aside. The text after `!` is
 * the reason of a conflict that alpha won.
 */
function shown(decision: Decision): string {
  if (decision.action === "merge") return `merge, else ${shown(decision.otherwise)}`;
  const { action, reason, kept, local, remote } = decision;
  if (action === "conflict") return `**conflict: ${reason}**`;
  const to = action === "take" ? ` ${nameOf(local)}` : action === "propose" ? ` ${nameOf(remote)}` : "";
  const joined = action === "join" ? ` ${nameOf(local)}` : "";
  const why = reason === undefined ? "" : ` !${reason}`;
  const aside = kept.length === 0 ? "" : ` [${kept.map(nameOf).join(" ")}]`;
  return action === "none" ? "·" : `${action}${to}${joined}${why}${aside}`;
}

function tableOf(names: readonly string[], bases: readonly string[]): string {
  const rows = bases.flatMap((base) =>
    names.flatMap((local) =>
      names.map((remote) => {
        const sides = { base: STATES[base], local: STATES[local], remote: STATES[remote] };
        const cells = MODES.map((mode) => shown(reconcilePath(sides, { mode })));
        return `| ${[base, local, remote, ...cells].join(" | ")} |`;
      }),
    ),
  );
  const head = ["base", "local", "remote", ...MODES];
  return [`| ${head.join(" | ")} |`, `|${" --- |".repeat(head.length)}`, ...rows].join("\n");
}

const LEGEND = `# What is done about one path

Written by \`reconcile.test.ts\` (\`npx vitest run src/core/tree/reconcile.test.ts -u\`) and read by people: a changed line is a
changed promise. Alpha is the local side. \`·\`: nothing; \`take\`: the local side gets this state; \`propose\`: the remote
one does; \`join\`: both do; \`[X]\`: the content of X is kept first; \`!\`: alpha has won, and why it had to.

A, B, C are files, \`+x\` and \`+g\` other permissions of the same one.
`;

describe("reconcilePath", () => {
  it("does what the table says, for every combination of states", async () => {
    const kinds = ["-", "A", "B", "dir", "link"];
    const text = [
      LEGEND,
      "## Every kind of state\n",
      tableOf(kinds, kinds),
      "\n## Three contents, and permissions\n",
      tableOf(["-", "A", "B", "C", "A+x", "A+g", "B+x"], ["-", "A"]),
      "\n## Permissions of a folder\n",
      tableOf(["-", "dir", "dir+g"], ["-", "dir", "dir+g"]),
    ];
    await expect(`${text.join("\n")}\n`).toMatchFileSnapshot("reconcile-table.md");
  });

  const every = Object.values(STATES);
  const combinations: PathSides[] = every.flatMap((base) =>
    every.flatMap((local) => every.map((remote) => ({ base, local, remote }))),
  );
  const settled = (sides: PathSides, options: ReconcileOptions) => {
    const decision = reconcilePath(sides, options);
    return decision.action === "merge" ? decision.otherwise : decision;
  };

  it.each(MODES)("%s: gives the mirrored decision if the sides are swapped", (mode) => {
    for (const { base, local, remote } of combinations) {
      const here = settled({ base, local, remote }, { mode, alpha: "local" });
      const there = settled({ base, local: remote, remote: local }, { mode, alpha: "remote" });
      const mirrored = { take: "propose", propose: "take" } as const;
      const action = here.action === "take" || here.action === "propose" ? mirrored[here.action] : here.action;
      expect([there.action, nameOf(there.local), nameOf(there.remote), there.reason]).toEqual([
        action,
        nameOf(here.remote),
        nameOf(here.local),
        here.reason,
      ]);
      expect(there.kept.map(nameOf).sort()).toEqual(here.kept.map(nameOf).sort());
    }
  });

  it.each(MODES)("%s: changes nothing when it is done a second time, and reports a conflict again", (mode) => {
    for (const sides of combinations) {
      const once = settled(sides, { mode });
      const twice = reconcilePath(once, { mode, mergeContents: false });
      if (twice.action === "merge") throw new Error("merged without being asked to");
      const isOpen = once.action === "conflict";
      expect(twice.action).toBe(isOpen ? "conflict" : "none");
      expect([nameOf(twice.local), nameOf(twice.remote)]).toEqual([nameOf(once.local), nameOf(once.remote)]);
      expect(twice.kept).toEqual([]);
    }
  });

  it.each(MODES)("%s: loses no content: each one stays on a side, is in the base, or is kept aside", (mode) => {
    for (const sides of combinations) {
      const { base, local, remote, kept } = settled(sides, { mode });
      const somewhere = new Set([undefined, sides.base, base, local, remote, ...kept].map((entry) => entry?.hash));
      for (const entry of [sides.local, sides.remote]) expect(somewhere).toContain(entry?.hash);
    }
  });

  it("two-way-safe replaces no content that has to be kept aside", () => {
    for (const sides of combinations) expect(settled(sides, { mode: "two-way-safe" }).kept).toEqual([]);
  });

  it("one-way modes never change alpha, and one-way-safe never changes a content that beta changed", () => {
    for (const mode of ["one-way-safe", "one-way-replica"] as const) {
      for (const sides of combinations) expect(settled(sides, { mode }).local).toBe(sides.local);
    }
    for (const sides of combinations) {
      const { base, remote } = sides;
      const isOwn = remote !== undefined && (remote.hash !== base?.hash || remote.kind !== base?.kind);
      if (isOwn)
        expect(settled(sides, { mode: "one-way-safe" }).remote).toMatchObject({ kind: remote.kind, hash: remote.hash });
    }
  });
});

describe("mergeContents", () => {
  const bytes = (base: string, local: string, remote: string) => ({
    base: Buffer.from(base),
    local: Buffer.from(local),
    remote: Buffer.from(remote),
  });
  function merge(base: string, local: string, remote: string, mode: ReconcileMode = "two-way-safe") {
    const sides = { base: file(base), local: file(local, 0o644, 5), remote: file(remote, 0o755, 7) };
    const pending = reconcilePath(sides, { mode });
    if (pending.action !== "merge") throw new Error(pending.action);
    return mergeContents(pending, bytes(base, local, remote));
  }

  it("joins the changes of both sides in different places, with the changed permissions", () => {
    const { decision, content } = merge("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n");
    expect(content?.toString()).toBe("one\n2\nthree\n");
    expect(decision).toMatchObject({
      action: "join",
      local: { hash: sha256("one\n2\nthree\n"), size: 12, mode: 0o755, mtimeMs: 7 },
    });
    expect(decision.kept.map(({ hash }) => hash)).toEqual([sha256("one\n2\n3\n"), sha256("1\n2\nthree\n")]);
  });

  it("gives a conflict if both changed the same lines, and alpha's whole file in two-way-resolved mode", () => {
    expect(merge("1\n", "one\n", "eins\n")).toMatchObject({ decision: { action: "conflict", reason: "content" } });
    const resolved = merge("1\n", "one\n", "eins\n", "two-way-resolved");
    expect(resolved.content).toBeUndefined();
    expect(resolved.decision).toMatchObject({ action: "propose", remote: { hash: sha256("one\n") } });
    expect(resolved.decision.kept.map(({ hash }) => hash)).toEqual([sha256("eins\n")]);
  });

  it("does not merge binary files", () => {
    expect(merge("1\0", "one\0", "eins\0").decision).toMatchObject({ action: "conflict", reason: "binary" });
  });
});
