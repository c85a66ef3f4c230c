import type { Entry } from "../values/entry.ts";
import { type Glob, compileGlob } from "./ignore-glob.ts";
import { matchName } from "./ignore-match.ts";
import { nameOf, type WorkspacePath } from "../values/path.ts";

/**
 * Patterns for the names that well-known tools give to files with secrets. A pattern with a leading `!` excludes names
 * again. The last pattern that matches decides. Only the last component of a path is tested. This component is compared
 * in lower case, because some disks treat `.ENV` as `.env`.
 *
 * A copy beside such a file (`.env~`, `id_rsa.bak`, `.id_rsa.swp`, a conflict copy `id_rsa.conflict-…` of an undo) is
 * treated like the file itself. This is also true of a copy of a copy (`server.key.old.bak`). A pattern that matches
 * the copy's own name takes precedence. For example, `.env.*` protects `.env.example~`.
 */
export const PROTECTED_NAMES: readonly string[] = [
  // Environment files (dotenv, Docker Compose, direnv). The example files of these tools have no secrets.
  ...[".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist", ".envrc"],
  // Private keys and stores of keys (OpenSSH, PuTTY, OpenSSL, Java, KeePass, Android).
  ...["id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "*.ppk"],
  ...["*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"],
  // Files with logins of package managers, network tools, databases, git, Docker, cloud tools and web servers.
  ...[".npmrc", ".yarnrc.yml", ".pypirc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".dockercfg"],
  ...["credentials", ".vault-token", ".htpasswd"],
];

interface NameRule {
  readonly glob: Glob;
  readonly isSecret: boolean;
}

/** The number of characters at either end of a name by which `NameRules` sorts out most names. */
const END = 2;

/**
 * Rules in order, of which the last one that matches decides. Nearly all names match no rule, so a name is first looked
 * up by its first and its last characters, and matched with the globs only if a glob begins or ends like it.
 */
class NameRules {
  readonly #rules: readonly NameRule[];
  readonly #heads = new Set<string>();
  readonly #tails = new Set<string>();
  #hasOther = false;

  constructor(patterns: readonly string[]) {
    this.#rules = patterns.flatMap(ruleOf);
    for (const { glob } of this.#rules) {
      if (glob.prefix.length >= END) this.#heads.add(glob.prefix.slice(0, END));
      else if (glob.suffix.length >= END) this.#tails.add(glob.suffix.slice(-END));
      else this.#hasOther = true;
    }
  }

  get count(): number {
    return this.#rules.length;
  }

  /** Returns the verdict of the last rule that matches the name, or `undefined`. The name must be in lower case. */
  last(name: string): boolean | undefined {
    const isLike = this.#hasOther || this.#heads.has(name.slice(0, END)) || this.#tails.has(name.slice(-END));
    return isLike ? this.#rules.findLast(({ glob }) => matchName(glob, name))?.isSecret : undefined;
  }
}

/**
 * Decides by the name of a file whether the file is protected. Uses `PROTECTED_NAMES`, and the names that a person has
 * added or excluded.
 */
export class ProtectedNames {
  /** A text that identifies the patterns. Two objects with an equal text decide alike. */
  readonly text: string;
  readonly #added: NameRules;
  readonly #elsewhere: NameRules;

  /**
   * `added`: patterns like those in `PROTECTED_NAMES`, over which the added patterns take precedence. `elsewhere`:
   * patterns that a person has added in another copy of the history, such as the origin. The patterns in `elsewhere`
   * only add protected names, and exclude no name that the other patterns protect.
   */
  constructor(added: readonly string[] = [], elsewhere: readonly string[] = []) {
    this.text = JSON.stringify([added, elsewhere]);
    this.#added = new NameRules(added);
    this.#elsewhere = new NameRules(elsewhere);
  }

  get hasAdded(): boolean {
    return this.#added.count + this.#elsewhere.count > 0;
  }

  /** Returns true if a file at this path would now be recorded as protected. */
  holds(path: WorkspacePath): boolean {
    return this.added(path) ?? lastMatch(TABLE, path) ?? false;
  }

  /**
   * Returns true if a pattern that a person has added protects the name, and false if such a pattern excludes the name.
   * Returns `undefined` if no such pattern matches. The result applies to all past states of the path.
   */
  added(path: WorkspacePath): boolean | undefined {
    if (this.#elsewhere.count > 0 && lastMatch(this.#elsewhere, path) === true) return true;
    return this.#added.count === 0 ? undefined : lastMatch(this.#added, path);
  }

  /** Returns the entry with the class that a capture would give the entry now. */
  classed(entry: Entry): Entry {
    const isProtected = entry.kind === "file" && this.holds(entry.path);
    if (isProtected === (entry.class === "protected")) return entry;
    const { class: _, ...rest } = entry;
    return isProtected ? { ...rest, class: "protected" } : rest;
  }
}

export function isNamePattern(pattern: string): boolean {
  const name = pattern.startsWith("!") ? pattern.slice(1) : pattern;
  return name !== "" && !name.includes("/") && !name.includes("\0") && compileGlob(name, false) !== undefined;
}

function ruleOf(pattern: string): NameRule[] {
  const isSecret = !pattern.startsWith("!");
  const glob = compileGlob(folded(isSecret ? pattern : pattern.slice(1)), false);
  return glob === undefined ? [] : [{ glob, isSecret }];
}

const TABLE = new NameRules(PROTECTED_NAMES);

/**
 * Patterns for the names of copies beside a file, as people, editors and Chronicle make them. Such a name is the file's
 * name with an addition. The capture group of each pattern is the name without the addition.
 */
const COPIES: readonly RegExp[] = [
  // Backups and temporary files: `x~`, `x.~1~`, `x.bak`, a conflict copy of an undo.
  /^(.+?)(?:~|\.~\d+~|\.(?:bak|old|orig|save|tmp|temp|lock|part|sw[a-px]|conflict-[0-9a-z]{8}(?:-\d+)?))$/s,
  // Copies of file managers: `x (copy)`, `x (2)`, `x copy`, `x - copy`.
  /^(.+?)(?: \((?:copy|\d+|another copy|copy \d+)\)| (?:- )?copy(?: \d+| \(\d+\))?)$/s,
  // Emacs (`#x#`, `.#x`), Vim (`.x.swp`), macOS (`._x`), LibreOffice (`.~lock.x#`).
  ...[/^#(.+)#$/s, /^\.#(.+)$/s, /^\.(.+)\.sw[a-px]$/s, /^\._(.+)$/s, /^\.~lock\.(.+)#$/s],
];

/** Returns false if the name matches no pattern of `COPIES`. This test is cheaper than the patterns. */
function mayBeCopy(name: string): boolean {
  const [first, last] = [name.charAt(0), name.charAt(name.length - 1)];
  if (first === "." || first === "#" || last === "~" || last === ")" || name.includes("copy")) return true;
  const ending = name.slice(name.lastIndexOf(".") + 1);
  return ENDINGS.has(ending) || ending.startsWith("conflict-") || (ending.length === 3 && ending.startsWith("sw"));
}

const ENDINGS: ReadonlySet<string> = new Set(["bak", "old", "orig", "save", "tmp", "temp", "lock", "part"]);

/** The maximum number of additions that are removed from a name, one after the other. */
const MOST_COPIES = 4;

/**
 * Returns the name, followed by the names of the files of which it can be a copy. The list begins with the names from
 * which the fewest additions were removed.
 */
function namesMeant(name: string): string[] {
  const names = [name];
  if (!mayBeCopy(name)) return names;
  let from = 0;
  for (let taken = 0; taken < MOST_COPIES && from < names.length; taken += 1) {
    const added = names.slice(from).flatMap((one) => COPIES.flatMap((copy) => copy.exec(one)?.[1] ?? []));
    from = names.length;
    for (const one of added) if (!names.includes(one)) names.push(one);
  }
  return names;
}

function lastMatch(rules: NameRules, path: WorkspacePath): boolean | undefined {
  for (const name of namesMeant(folded(nameOf(path)))) {
    const verdict = name === "" ? undefined : rules.last(name);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

function folded(name: string): string {
  return name.toLowerCase();
}
