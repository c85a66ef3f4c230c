import { ChronicleError } from "../values/errors.ts";
import { isLiteral } from "./ignore-glob.ts";
import { RuleSet, byteText, descend } from "./ignore-rules.ts";

const MAX_PATTERN_LENGTH = 4096;

/** A test that decides from the path alone. Returns true if the path, or a folder above it, is filtered out. */
export type PathTest = (path: string, isFolder: boolean) => boolean;

/**
 * One line of a `.gitignore`: `*.pyc`, `build/`, `/docs/*.md`, `!keep.pyc`. A path that the line matches is filtered
 * out, with everything beneath the path. If the line begins with `!`, the path is let through again. Blank lines and
 * comments match nothing.
 */
export class FilterPattern {
  readonly text: string;

  /** Throws `USAGE` if the text is not one line, or has more than 4,096 characters. */
  constructor(text: string) {
    if (/[\n\0]/.test(text))
      throw new ChronicleError("USAGE", `a pattern must be one line without NUL: ${JSON.stringify(text)}`);
    if (text.length > MAX_PATTERN_LENGTH) {
      throw new ChronicleError("USAGE", `a pattern has at most ${MAX_PATTERN_LENGTH} characters`);
    }
    this.text = text;
  }

  /** True if the pattern lets through paths that an earlier pattern filters out. */
  get isNegated(): boolean {
    return this.text.startsWith("!");
  }
}

/**
 * Returns a test that uses only string operations; `undefined` if the pattern needs a matcher (`RuleTest`). The
 * following forms need no matcher. All forms except the last can end with `/`:
 * - a name (`node_modules`)
 * - a path (`/docs/old`, `a/b`)
 * - a tail (`*.pyc`), a head (`tmp*`), or a part (`*cache*`)
 * - the contents of a folder (`.git/**`)
 */
export function fastTest({ text, isNegated }: FilterPattern): PathTest | undefined {
  // Escapes, trailing spaces and names beyond ASCII are left to the matcher, which compares bytes.
  if (isNegated || text === "" || text.startsWith("#") || !/^[!-~]+(?: +[!-~]+)*$/.test(text)) return undefined;
  const folderOnly = text.endsWith("/");
  const body = folderOnly ? text.slice(0, -1) : text;
  if (body === "" || body.endsWith("/")) return undefined;
  const name = body.startsWith("**/") ? body.slice(3) : body;
  if (!name.includes("/")) return nameTest(name, folderOnly);
  const path = body.startsWith("/") ? body.slice(1) : body;
  const inside = path.endsWith("/**") && !folderOnly ? path.slice(0, -2) : undefined;
  if (path.startsWith("/") || !isLiteral(inside ?? path)) return undefined;
  return inside === undefined ? pathTest(path, folderOnly) : (given) => given.startsWith(inside);
}

/** Returns a test that matches the path itself and everything beneath the path. */
function pathTest(path: string, folderOnly: boolean): PathTest {
  const { length } = path;
  return (given, isFolder) => {
    if (!given.startsWith(path)) return false;
    return given.length === length ? isFolder || !folderOnly : given.charCodeAt(length) === SLASH;
  };
}

const SLASH = 0x2f;

function nameTest(name: string, folderOnly: boolean): PathTest | undefined {
  const opens = name.startsWith("*");
  const closes = name.endsWith("*");
  const text = name.replace(/^\*+|\*+$/g, "");
  if (text === "" || !isLiteral(text)) return undefined;
  if (opens && closes) return partTest(text, folderOnly);
  return placedTest(text, folderOnly, { anyHead: opens, anyTail: closes });
}

/** Returns a test for `*text*`. The text has no slash, so the text can only match within one name. */
function partTest(text: string, folderOnly: boolean): PathTest {
  if (!folderOnly) return (path) => path.includes(text);
  return (path, isFolder) => {
    const at = path.indexOf(text);
    return at >= 0 && (isFolder || path.includes("/", at));
  };
}

/**
 * Returns a test for paths with a component that consists of the text. With `anyHead`, other characters may precede the
 * text in the component. With `anyTail`, other characters may follow the text. The test finds the text first, and then
 * checks the characters around the text.
 */
function placedTest(text: string, folderOnly: boolean, any: { anyHead: boolean; anyTail: boolean }): PathTest {
  const { anyHead, anyTail } = any;
  const { length } = text;
  return (path, isFolder) => {
    for (let at = path.indexOf(text); at >= 0; at = path.indexOf(text, at + 1)) {
      if (!anyHead && at > 0 && path.charCodeAt(at - 1) !== SLASH) continue;
      const end = at + length;
      if (anyTail ? !path.includes("/", end) : end === path.length) {
        if (isFolder || !folderOnly) return true;
      } else if (anyTail || path.charCodeAt(end) === SLASH) return true;
    }
    return false;
  };
}

/** The maximum total length, in characters, of the folder paths whose verdicts are cached. */
const MAX_REMEMBERED = 4_000_000;

/** The maximum length, in characters, of a folder path that is cached (`PATH_MAX` of Linux). */
const MAX_REMEMBERED_NAME = 4096;

/** The state of the path rules in a folder. `undefined` if the folder, with everything in it, is filtered out. */
type FolderState = RuleSet["start"] | undefined;

/**
 * Applies the rules as git does, in the order of the patterns. The last match decides, and folders are judged before
 * their contents.
 */
export class RuleTest {
  readonly #rules: RuleSet;
  readonly #folders = new Map<string, FolderState>();
  #remembered = 0;

  /** Throws `LIMIT_EXCEEDED` if there are more patterns than can be applied. */
  constructor(patterns: readonly FilterPattern[]) {
    this.#rules = new RuleSet(patterns.map(({ text }) => text).join("\n"));
    const { problem } = this.#rules;
    if (problem !== undefined) throw new ChronicleError("LIMIT_EXCEEDED", `the patterns of a filter are ${problem}`);
  }

  /** Returns true if the path, or a folder above it, is filtered out. */
  matches(path: string, isFolder: boolean): boolean {
    const slash = path.lastIndexOf("/");
    const state = this.#folder(slash < 0 ? "" : path.slice(0, slash));
    return state === undefined || this.#isExcluded(state, path.slice(slash + 1), isFolder);
  }

  #isExcluded(state: RuleSet["start"], name: string, isFolder: boolean): boolean {
    const rule = this.#rules.find(byteText(name), isFolder, state);
    return rule !== undefined && !rule.negated;
  }

  #folder(path: string): FolderState {
    if (path === "") return this.#rules.start;
    if (this.#folders.has(path)) return this.#folders.get(path);
    let state: FolderState = this.#rules.start;
    for (let start = 0; state !== undefined && start <= path.length;) {
      const slash = path.indexOf("/", start);
      const end = slash < 0 ? path.length : slash;
      state = this.#child(state, path.slice(start, end), path.slice(0, end));
      start = end + 1;
    }
    return state;
  }

  #child(parent: RuleSet["start"], name: string, path: string): FolderState {
    if (path.length > MAX_REMEMBERED_NAME) return this.#judge(parent, name);
    if (this.#folders.has(path)) return this.#folders.get(path);
    const state = this.#judge(parent, name);
    // A peer chooses the paths, so the cache is bounded.
    if (this.#remembered > MAX_REMEMBERED) {
      this.#folders.clear();
      this.#remembered = 0;
    }
    this.#folders.set(path, state);
    this.#remembered += path.length;
    return state;
  }

  #judge(parent: RuleSet["start"], name: string): FolderState {
    return this.#isExcluded(parent, name, true) ? undefined : descend(parent, byteText(name));
  }
}
