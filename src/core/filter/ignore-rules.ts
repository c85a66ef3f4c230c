import { compileGlob, isLiteral, literalLength } from "./ignore-glob.ts";
import type { Glob } from "./ignore-glob.ts";
import { accepts, advance, literalComponent, matchName, startState } from "./ignore-match.ts";
import type { GlobState } from "./ignore-match.ts";
import { pathToBytes } from "../values/path.ts";
import { foldCase } from "./tracked-paths.ts";

/** The maximum size, in bytes of UTF-8, of a rule file that is applied. */
export const MAX_RULE_FILE_BYTES = 1024 ** 2;

/**
 * The maximum number of rules in one file that must be tried on every path, because no lookup finds them. There are two
 * kinds of such rules: a path pattern whose first component has a wildcard, and a name pattern with a wildcard, other
 * than `*tail` and `head*`. A file with more such rules is not applied.
 */
export const MAX_WILD_RULES = 2000;

export interface IgnoreRule {
  /** The index of the rule among the rules of its file. The matching rule with the highest index decides. */
  readonly index: number;
  /** The number of the line, from 1. */
  readonly line: number;
  readonly pattern: string;
  readonly negated: boolean;
  readonly folderOnly: boolean;
}

/**
 * Two indexes for all rules with the same text. `file` is the index of the last rule that applies to files, and
 * `folder` that of the last rule that applies to folders. An index is -1 if there is no such rule.
 */
interface Slot {
  file: number;
  folder: number;
}

/** A path rule (a pattern with a `/`) that can still match something beneath the current folder. */
interface LivePath {
  readonly rule: IgnoreRule;
  readonly glob: Glob;
  readonly state: GlobState;
}

/**
 * The path rules (patterns with a `/`) that can still match something in one folder. `named` maps the name of a child
 * to the rules that allow only this name as the next component. `after` is the state of such a rule beneath the child;
 * `undefined` if the rule ends with this name. `wild` has all other rules.
 */
export interface LivePaths {
  readonly named: ReadonlyMap<string, readonly { readonly live: LivePath; readonly after: GlobState | undefined }[]>;
  readonly wild: readonly LivePath[];
}

const NO_PATHS: LivePaths = { named: new Map(), wild: [] };

// oxlint-disable-next-line no-control-regex
const ASCII = /^[\0-\x7f]*$/;

/** Converts a name to the form in which git compares it: a text with one character for each byte. */
export function byteText(name: string): string {
  return ASCII.test(name) ? name : pathToBytes(name).toString("latin1");
}

/**
 * The compiled rules of one file. Names must be passed in the form that `byteText` returns. A file that exceeds
 * `MAX_RULE_FILE_BYTES` or `MAX_WILD_RULES` is not applied at all. If only some of its rules were applied, they could
 * exclude paths that the other rules include again.
 */
export class RuleSet {
  /** The reason why the file is not applied; `undefined` if the file is applied. */
  readonly problem: string | undefined;
  readonly #rules: readonly IgnoreRule[];
  readonly #names: NameRules;
  readonly #start: LivePaths;
  readonly #ignoreCase: boolean;

  /** If `ignoreCase` is true, ignores the case of ASCII letters, as git does with `core.ignoreCase`. */
  constructor(text: string, ignoreCase = false) {
    this.#ignoreCase = ignoreCase;
    this.#names = new NameRules(ignoreCase);
    const isTooLarge = text.length * 3 > MAX_RULE_FILE_BYTES && Buffer.byteLength(text) > MAX_RULE_FILE_BYTES;
    const rules: IgnoreRule[] = [];
    const paths: LivePath[] = [];
    for (const line of ruleLines(isTooLarge ? "" : text)) {
      const rule = { ...line.rule, index: rules.length };
      rules.push(rule);
      const body = line.body.startsWith("**/") && !line.body.includes("/", 3) ? line.body.slice(3) : line.body;
      if (!body.includes("/")) {
        this.#names.add(body, rule);
        continue;
      }
      const glob = compileGlob(body.startsWith("/") ? body.slice(1) : body, true, ignoreCase);
      if (glob !== undefined) paths.push({ rule, glob, state: startState(glob) });
    }
    this.#rules = rules;
    this.#start = arrange(paths);
    const wild = this.#names.globCount + this.#start.wild.length;
    if (isTooLarge) this.problem = `larger than ${MAX_RULE_FILE_BYTES} bytes`;
    else if (wild > MAX_WILD_RULES) this.problem = `more than ${MAX_WILD_RULES} rules with wildcards inside`;
  }

  /** True if no rule of the file is applied. */
  get isEmpty(): boolean {
    return this.problem !== undefined || this.#rules.length === 0;
  }

  get hasNames(): boolean {
    return !this.#names.isEmpty;
  }

  get start(): LivePaths {
    return this.#start;
  }

  /**
   * Returns the last rule that matches a child of a folder; `undefined` if no rule matches. `paths`: the path rules
   * that apply in the folder.
   */
  find(name: string, isFolder: boolean, paths: LivePaths): IgnoreRule | undefined {
    const folded = this.#folded(name);
    const best = findPath(folded, isFolder, paths, this.#names.find(folded, isFolder));
    return best < 0 ? undefined : this.#rules[best];
  }

  below(paths: LivePaths, name: string): LivePaths {
    return descend(paths, this.#folded(name));
  }

  #folded(name: string): string {
    return this.#ignoreCase ? foldCase(name) : name;
  }
}

/** Returns the path rules that apply in a child folder. `paths`: the path rules that apply in the child's parent. */
export function descend(paths: LivePaths, name: string): LivePaths {
  const below: LivePath[] = [];
  for (const { live, after } of paths.named.get(name) ?? []) {
    if (after !== undefined) below.push({ ...live, state: after });
  }
  for (const live of paths.wild) {
    const state = advance(live.glob, live.state, `${name}/`);
    if (state.length > 0) below.push({ ...live, state });
  }
  return below.length === 0 ? NO_PATHS : arrange(below);
}

/** Returns true if `paths` has no rule that can still match something. */
export function isSpent(paths: LivePaths): boolean {
  return paths.wild.length === 0 && paths.named.size === 0;
}

function findPath(name: string, isFolder: boolean, paths: LivePaths, atLeast: number): number {
  let best = atLeast;
  for (const { live, after } of paths.named.get(name) ?? []) {
    if (after === undefined && applies(live.rule, isFolder, best)) best = live.rule.index;
  }
  for (const { rule, glob, state } of paths.wild) {
    if (!applies(rule, isFolder, best) || !mayEnd(glob, name)) continue;
    if (accepts(glob, advance(glob, state, name))) best = rule.index;
  }
  return best;
}

function applies(rule: IgnoreRule, isFolder: boolean, best: number): boolean {
  return rule.index > best && (isFolder || !rule.folderOnly);
}

/** Returns true if a path whose last component is `name` could match. This cheap test precedes the full test. */
function mayEnd(glob: Glob, name: string): boolean {
  const slash = glob.suffix.lastIndexOf("/");
  return slash < 0 ? name.endsWith(glob.suffix) : name === glob.suffix.slice(slash + 1);
}

function arrange(paths: readonly LivePath[]): LivePaths {
  const named = new Map<string, { live: LivePath; after: GlobState | undefined }[]>();
  const wild: LivePath[] = [];
  for (const live of paths) {
    const next = literalComponent(live.glob, live.state);
    if (next === undefined) {
      wild.push(live);
      continue;
    }
    const found = named.get(next.name);
    if (found === undefined) named.set(next.name, [{ live, after: next.after }]);
    else found.push({ live, after: next.after });
  }
  return { named, wild };
}

/**
 * The rules for names at any depth. Plain names, `*tail` and `head*` are found by lookups. The search for a tail or a
 * head needs one lookup for each length that the tails or heads have.
 */
class NameRules {
  readonly #exact = new Map<string, Slot>();
  readonly #heads = new Map<number, Map<string, Slot>>();
  readonly #tails = new Map<number, Map<string, Slot>>();
  readonly #globs = new Map<string, { readonly glob: Glob; readonly slot: Slot }>();
  #last = -1;
  readonly #ignoreCase: boolean;

  constructor(ignoreCase: boolean) {
    this.#ignoreCase = ignoreCase;
  }

  get isEmpty(): boolean {
    return this.#last < 0;
  }

  get globCount(): number {
    return this.#globs.size;
  }

  add(pattern: string, rule: IgnoreRule): void {
    if (pattern === "") return;
    const stars = /^\*+/.exec(pattern)?.[0].length ?? 0;
    const rest = pattern.slice(stars);
    const head = literalLength(pattern);
    if (stars === 0 && head === pattern.length) this.#mark(this.#exact, pattern, rule);
    else if (stars > 0 && isLiteral(rest)) this.#mark(sized(this.#tails, rest.length), rest, rule);
    else if (/^\*+$/.test(pattern.slice(head))) this.#mark(sized(this.#heads, head), pattern.slice(0, head), rule);
    else this.#addGlob(pattern, rule);
  }

  #addGlob(pattern: string, rule: IgnoreRule): void {
    const found = this.#globs.get(pattern);
    const glob = found?.glob ?? compileGlob(pattern, false, this.#ignoreCase);
    if (glob === undefined) return;
    const slot = found?.slot ?? { file: -1, folder: -1 };
    this.#globs.set(pattern, { glob, slot });
    this.#raise(slot, rule);
  }

  #mark(map: Map<string, Slot>, plain: string, rule: IgnoreRule): void {
    const text = this.#ignoreCase ? foldCase(plain) : plain;
    let slot = map.get(text);
    if (slot === undefined) map.set(text, (slot = { file: -1, folder: -1 }));
    this.#raise(slot, rule);
  }

  #raise(slot: Slot, rule: IgnoreRule): void {
    slot.folder = rule.index;
    if (!rule.folderOnly) slot.file = rule.index;
    this.#last = rule.index;
  }

  find(name: string, isFolder: boolean): number {
    if (this.#last < 0) return -1;
    let best = indexIn(this.#exact.get(name), isFolder);
    for (const [length, tails] of this.#tails) {
      if (length <= name.length) best = Math.max(best, indexIn(tails.get(name.slice(name.length - length)), isFolder));
    }
    for (const [length, heads] of this.#heads) {
      if (length <= name.length) best = Math.max(best, indexIn(heads.get(name.slice(0, length)), isFolder));
    }
    for (const { glob, slot } of this.#globs.values()) {
      const index = isFolder ? slot.folder : slot.file;
      if (index > best && matchName(glob, name)) best = index;
    }
    return best;
  }
}

function sized(maps: Map<number, Map<string, Slot>>, length: number): Map<string, Slot> {
  let map = maps.get(length);
  if (map === undefined) maps.set(length, (map = new Map()));
  return map;
}

function indexIn(slot: Slot | undefined, isFolder: boolean): number {
  if (slot === undefined) return -1;
  return isFolder ? slot.folder : slot.file;
}

interface RuleLine {
  readonly rule: Omit<IgnoreRule, "index">;
  /** The pattern without its leading `!` and its final `/`, in the form that `byteText` returns. */
  readonly body: string;
}

/** Yields the lines that have a pattern, as git's `add_patterns_from_buffer` and `parse_path_pattern` read them. */
function* ruleLines(text: string): Generator<RuleLine> {
  let line = 0;
  for (const raw of (text.startsWith("\uFEFF") ? text.slice(1) : text).split("\n")) {
    line += 1;
    if (raw === "" || raw.startsWith("#")) continue;
    const pattern = trimSpaces(cutAtNul(raw.endsWith("\r") ? raw.slice(0, -1) : raw));
    const negated = pattern.startsWith("!");
    const positive = negated ? pattern.slice(1) : pattern;
    const folderOnly = positive.endsWith("/");
    const body = byteText(folderOnly ? positive.slice(0, -1) : positive);
    if (body !== "") yield { rule: { line, pattern, negated, folderOnly }, body };
  }
}

function cutAtNul(text: string): string {
  const at = text.indexOf("\0");
  return at < 0 ? text : text.slice(0, at);
}

/** Removes trailing spaces. A space that a `\` escapes stays. */
function trimSpaces(text: string): string {
  if (!text.endsWith(" ")) return text;
  let end = -1;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === " ") {
      if (end < 0) end = at;
      continue;
    }
    end = -1;
    if (text[at] === "\\") at += 1;
  }
  return end < 0 ? text : text.slice(0, end);
}
