import { fedPieces, ONLY_FIRST, TOOL_FLAGS, TOOL_WORDS, type ToolFlag, type ToolWords } from "./secret-tools.ts";

// Recorded commands often contain secrets. This module masks these secrets. It recognises a secret by its name
// (`--token`, `API_KEY=`, `Authorization:`), by its place (`curl -u`, `mysql -p`, user info in a URL) or by its shape.
// In doubt, a word is masked. A secret in an unnamed argument of unknown shape cannot be recognised.

export const MASK = "***";

/** Words that make a name secret at any position in the name. `isSecretName` has the exceptions. */
const STRONG = /token(?!s|iz)|passw(?:or)?d|passphrase|secret|(?:api|access|private|auth|account)[-_.]?key|credential/i;
/** Words that make a name secret only as the last part of the name or as the whole name. */
const LAST =
  /^(?:(?:store|key|src|dest|db|user|owner|admin|root|my|ssh|ftp|smtp|mail|http|proxy|bind)*pass|pw|psk|pat|auth|bearer|cookie|jwt)$/i;
/** Last parts that make a name secret only after another part, because `KEY=` and `PWD=` alone are harmless. */
const LAST_OF_MANY = /^(?:key|pwd)$/i;
/** Last parts that make a name harmless. The value then tells where a secret is, or is a property of the secret. */
const HARMLESS =
  /^(?:file|path|dir|stdin|fd|url|uri|ttl|expiry|expires|length|len|name|type|id|count|limit|policy|prompt|helper)$/i;

function isSecretName(name: string): boolean {
  const parts = name
    .replace(/([a-z\d])([A-Z])/g, "$1-$2")
    .split(/[-_.]+/)
    .filter((part) => part !== "");
  const last = parts.at(-1) ?? "";
  if (/^(?:no|ask|skip)$/i.test(parts[0] ?? "")) return false;
  if (STRONG.test(name)) return parts.length === 1 || !HARMLESS.test(last) || /access[-_.]?key[-_.]?id$/i.test(name);
  return LAST.test(last) || (parts.length > 1 && LAST_OF_MANY.test(last));
}

const SHAPES = [
  /\bchr_[\w-]{43}/g,
  /\bsk-[\w-]{16,}/g,
  /\b[rs]k_(?:live|test)_\w{10,}/g,
  /\bgh[opsur]_\w{20,}/g,
  /\bgithub_pat_\w{20,}/g,
  /\bglpat-[\w-]{16,}/g,
  /\bxox[a-z]-[\w-]{10,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\bya29\.[\w-]{20,}/g,
  /\bnpm_\w{30,}/g,
  /\bhf_\w{20,}/g,
  /\bpypi-[\w-]{30,}/g,
  /\bSG\.[\w-]{16,}\.[\w-]{16,}/g,
  /\b(?:hv[sbr]\.|dop_v1_|shp(?:at|ss|ca|pa)_|sbp_|whsec_|dckr_pat_|lin_api_|tskey-|pul-|figd_|xapp-|gl(?:ptt|dt|rt|oas|cbt)-)[\w-]{16,}/g,
  /\bAGE-SECRET-KEY-1\w{20,}/g,
  /\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g,
];

const USER_INFO = /\b([a-z][a-z\d+.-]{1,20}:\/\/)([^\s/?#'"]{1,1000})@/gi;
/**
 * Matches URLs that are secrets themselves, and signatures in signed URLs. The first group stays, and the rest is
 * masked.
 */
const ADDRESSES = [
  /(\bhooks\.slack\.com\/services\/)[\w./,-]+/gi,
  /(\bdiscord(?:app)?\.com\/api\/webhooks\/)[\w./-]+/gi,
  /(\bapi\.telegram\.org\/bot)[\w:-]+/gi,
  /([?&](?:sig|signature|x-amz-signature)=)[^&\s'"*]+/gi,
];
/** Matches SQL and PowerShell statements with a secret in quotes. The first group stays, and the rest is masked. */
const QUOTED = [/(\bidentified\s{1,4}by\s{1,4}(["']))(?:(?!\2)[^])+/gi, /(\bpassword\s{1,4}(["']))(?:(?!\2)[^])+/gi];
const SET_VARIABLE = /(SetEnvironmentVariable\(\s{0,4}["'](\w{1,64})["']\s{0,4},\s{0,4}(["']))(?:(?!\3)[^])+/gi;
const BEARER = /\b(bearer\s{1,4})[\w.~+/=-]{8,}/gi;

/**
 * A rule for a secret that follows its name. `name` is a global pattern. `value` is a sticky pattern, which is matched
 * right after the name.
 */
interface NamedRule {
  readonly name: RegExp;
  readonly value: RegExp;
  readonly isSecret: (name: string) => boolean;
  readonly mask: string;
}

/** Each pattern bounds the length of the name, so that masking takes time linear in the length of the text. */
const NAMED_RULES: readonly NamedRule[] = [
  // An HTTP header. The value extends to the closing quote or the end of the line. A scheme such as `Bearer` is matched
  // by `name`, and is not masked.
  {
    name: /(?<![\w-])([a-z][\w-]{2,63})\s{0,4}:\s{0,4}(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{1,4})?/gi,
    value: /[^\s'"][^'"\r\n]*/y,
    isSecret: isSecretHeader,
    mask: MASK,
  },
  // A field of a JSON object. The quotes can be escaped, because the object can be in a string.
  {
    name: /["']([\w.-]{1,64})\\{0,3}["']\s{0,4}:\s{0,4}/g,
    value: /\\{1,3}["'][^"']*["']?|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,}"']+/y,
    isSecret: isSecretName,
    mask: `"${MASK}"`,
  },
  // An assignment: a variable, a flag, or a field of a form or of a URL's query.
  {
    name: /(?<![\w.])([a-z_][\w.-]{0,63})=/gi,
    value: /"[^"]*"?|'[^']*'?|[^\s&;|'"]+/y,
    isSecret: isSecretName,
    mask: MASK,
  },
  // The option `--pwd=…`, and the field `Pwd=…` of a connection string. A value that is a path is a folder, not a
  // password.
  {
    name: /(?:(?<![\w-])--?|;\s{0,4})(pwd)=(?![./~$])/gi,
    value: /"[^"]*"?|'[^']*'?|[^\s&;|'"]+/y,
    isSecret: () => true,
    mask: MASK,
  },
];

function maskNamed(text: string, { name, value, isSecret, mask }: NamedRule): string {
  let masked = "";
  let done = 0;
  for (const found of text.matchAll(name)) {
    const from = found.index + found[0].length;
    if (found.index < done || !isSecret(found[1] ?? "")) continue;
    value.lastIndex = from;
    const [held] = value.exec(text) ?? [];
    if (held === undefined) continue;
    masked += text.slice(done, from) + mask;
    done = from + held.length;
  }
  return masked + text.slice(done);
}

function isSecretHeader(name: string): boolean {
  return (
    /^(?:authorization|proxy-authorization|cookie|set-cookie)$/i.test(name) || (STRONG.test(name) && isSecretName(name))
  );
}

function maskUser(user: string): string {
  const colon = user.indexOf(":");
  if (colon >= 0) return `${user.slice(0, colon)}:${MASK}`;
  return user.length >= 20 ? MASK : user;
}

function maskText(text: string): string {
  let masked = maskShapes(text);
  masked = masked.replace(USER_INFO, (_match, scheme: string, user: string) => `${scheme}${maskUser(user)}@`);
  for (const address of ADDRESSES) masked = masked.replace(address, (_match, stays: string) => `${stays}${MASK}`);
  for (const statement of QUOTED) masked = masked.replace(statement, (_match, stays: string) => `${stays}${MASK}`);
  for (const rule of NAMED_RULES) masked = maskNamed(masked, rule);
  return masked.replace(BEARER, (_match, word: string) => `${word}${MASK}`);
}

function maskShapes(text: string): string {
  return SHAPES.reduce((masked, shape) => masked.replace(shape, MASK), text);
}

const SHELL = /^(?:ba|da|z|k|a|fi)?sh$|^su$|^eval$/;

/** The kind of word that is expected after a flag or a name. */
type Next =
  | "plain"
  | "command"
  | "assigned"
  | "secret"
  | "pwd"
  | Exclude<ToolFlag["takes"], "next" | "apart" | "attached" | "nothing">;

interface Progress {
  readonly rule: ToolWords;
  /** The number of words of `rule.after` that were matched so far. `count` is the number of words after these words. */
  matched: number;
  count: number;
  /** All words from this `count` on are the value of a secret whose name was an earlier word. */
  from: number;
}

/** Masks the words of one command, one after the other. */
class Words {
  #tool: readonly ToolFlag[] = [];
  #rules: readonly Progress[] = [];
  #isFirst = true;
  #isShell = false;
  #isSsh = false;
  #seen = new Set<string>();
  #next: Next = "plain";

  mask(word: string): string {
    const as = this.#next;
    this.#next = "plain";
    const taken = this.#taken(word, as);
    if (taken !== undefined) return taken;
    const attached = this.#attached(word) ?? this.#placed(word);
    if (attached === undefined) this.#look(word);
    this.#isFirst = false;
    return attached ?? maskText(word);
  }

  /**
   * Returns the word, masked as the previous flag or name requires; `undefined` if no previous flag or name requires
   * anything.
   */
  #taken(word: string, as: Next): string | undefined {
    // In `--token --verbose`, the first flag has no value.
    if (as === "secret" && !/^--[a-z]/i.test(word)) return MASK;
    // A path after `--pwd` is a working folder, not a password.
    if (as === "pwd" && !/^(?:[./~$]|--)/.test(word)) return MASK;
    if (as === "user" && word.includes(":")) return `${word.slice(0, word.indexOf(":"))}:${MASK}`;
    if (as === "percent" && word.includes("%")) return `${word.slice(0, word.indexOf("%"))}%${MASK}`;
    if (as === "pair" && word.includes("=")) return `${word.slice(0, word.indexOf("="))}=${MASK}`;
    if (as === "source") return sourceOf(word);
    if (as === "command" || (this.#isSsh && /\s/.test(word))) return maskShell(word);
    if (as !== "assigned" || !/^\+?=$/.test(word)) return undefined;
    this.#next = "secret";
    return word;
  }

  #look(word: string): void {
    this.#learn(word.slice(word.lastIndexOf("/") + 1));
    if (word === "eval" || word.endsWith("/eval") || (this.#isShell && /^-[a-z]*c$/.test(word))) this.#next = "command";
    else if (/^--?[a-z][\w.-]{1,63}$/i.test(word) && isSecretName(word.replace(/^-+/, ""))) this.#next = "secret";
    else if (/^--?pwd$/i.test(word)) this.#next = "pwd";
    else if (this.#isFirst && isSecretVariable(word)) this.#next = "assigned";
    const flag = this.#tool.find((one) => one.flags.includes(word) && this.#isAfter(one));
    if (flag !== undefined && flag.takes !== "attached") {
      this.#next = nextAfter(flag.takes);
    }
    this.#seen.add(word);
  }

  #learn(program: string): void {
    const isProgram = this.#isFirst || !ONLY_FIRST.has(program);
    if (SHELL.test(program)) [this.#isShell, this.#tool] = [true, []];
    else if (isProgram && Object.hasOwn(TOOL_FLAGS, program)) this.#tool = TOOL_FLAGS[program] ?? [];
    else if (program === "ssh") this.#isSsh = true;
    if (isProgram && Object.hasOwn(TOOL_WORDS, program)) this.#rules = begun(TOOL_WORDS[program] ?? []);
  }

  #isAfter(flag: ToolFlag): boolean {
    return flag.after === undefined || this.#seen.has(flag.after);
  }

  #placed(word: string): string | undefined {
    if (word === "" || word === "=" || /^-(?!$)/.test(word)) return undefined;
    let masked: string | undefined;
    for (const progress of this.#rules) masked ??= this.#step(progress, word);
    return masked;
  }

  #step(progress: Progress, word: string): string | undefined {
    const { rule } = progress;
    if (progress.matched < rule.after.length) {
      if (word === rule.after[progress.matched]) progress.matched += 1;
      return undefined;
    }
    progress.count += 1;
    const { count } = progress;
    const [, name] = /^([\w./-]{1,64})=/.exec(word) ?? [];
    if (rule.secret === "values") return name === undefined ? undefined : `${name}=${MASK}`;
    if (typeof rule.secret === "number") {
      const isMeant = count >= rule.secret && name === undefined && word !== "-" && this.#hasFlag(rule);
      return isMeant ? MASK : undefined;
    }
    if (count >= progress.from) return MASK;
    if (rule.secret === "named" || count === 1) progress.from = count + offsetOf(word);
    return undefined;
  }

  #hasFlag({ flag }: ToolWords): boolean {
    return flag === undefined || [...this.#seen].some((word) => flag.test(word));
  }

  #attached(word: string): string | undefined {
    const [, name, value] = /^(-{0,2}[a-z_][\w.-]{0,63})=([^]+)$/i.exec(word) ?? [];
    if (name !== undefined && value !== undefined && isSecretName(name.replace(/^-+/, ""))) return `${name}=${MASK}`;
    if (/^-H./.test(word)) return `-H${maskText(word.slice(2))}`;
    if (/^pass:./.test(word)) return `pass:${MASK}`;
    for (const flag of this.#tool) {
      const start = flag.flags.find((text) => word.length > text.length && word.startsWith(text));
      if (start === undefined || !this.#isAfter(flag)) continue;
      const masked = attachedTo(flag, start, word.slice(start.length));
      if (masked !== undefined) return masked;
    }
    return undefined;
  }
}

function nextAfter(takes: Exclude<ToolFlag["takes"], "attached">): Next {
  if (takes === "next" || takes === "apart") return "secret";
  return takes === "nothing" ? "plain" : takes;
}

function begun(rules: readonly ToolWords[]): Progress[] {
  return rules.map((rule) => ({ rule, matched: 0, count: 0, from: Number.POSITIVE_INFINITY }));
}

/** Returns the distance, in words, from a name to the beginning of its secret; infinity if the name names no secret. */
function offsetOf(name: string): number {
  // `http-basic.HOST USER PASSWORD` of Poetry and Composer.
  if (name.startsWith("http-basic.")) return 2;
  const last = name.slice(Math.max(name.lastIndexOf(":"), name.lastIndexOf("/")) + 1);
  const isSecret = !name.includes("=") && (isSecretName(last) || /oauth/i.test(name));
  return isSecret ? 1 : Number.POSITIVE_INFINITY;
}

/** Returns true for the name of a secret variable in an assignment of PowerShell (`$env:API_KEY`, `$password`). */
function isSecretVariable(word: string): boolean {
  const [, name] = /^\$(?:(?:env|global|script|local):)?(\w{1,64})$/i.exec(word) ?? [];
  return name !== undefined && isSecretName(name);
}

/** Masks the source from which OpenSSL gets a password, if the source is the password itself. */
function sourceOf(word: string): string {
  if (/^(?:env|file|fd):|^stdin$/.test(word)) return word;
  return word.startsWith("pass:") ? `pass:${MASK}` : MASK;
}

function attachedTo({ takes }: ToolFlag, start: string, rest: string): string | undefined {
  if (start.startsWith("--")) {
    const [, name] = takes === "pair" ? (/^=([^=]+)=[^]/.exec(rest) ?? []) : [];
    if (name !== undefined) return `${start}=${name}=${MASK}`;
    return takes === "user" && rest.startsWith("=") ? `${start}=${maskUser(rest.slice(1))}` : undefined;
  }
  if (takes === "source" || takes === "apart" || takes === "nothing") return undefined;
  if (takes === "user") return `${start}${maskUser(rest)}`;
  if (takes === "percent")
    return rest.includes("%") ? `${start}${rest.slice(0, rest.indexOf("%"))}%${MASK}` : undefined;
  return `${start}${MASK}`;
}

/** Matches a word of a shell command with its quotes, or a separator between words. */
const SHELL_WORDS = /(?:"(?:[^"\\]|\\[^])*"|'[^']*'|\\[^]|[^\s;|&()<>"'\\])+|\s+|[^]/g;

function maskShell(command: string): string {
  let words = new Words();
  let masked = "";
  // The shapes are masked before the command is split, because a private key can have many words.
  const whole = maskShapes(command).replace(SET_VARIABLE, (match, stays: string, name: string) =>
    isSecretName(name) ? `${stays}${MASK}` : match,
  );
  const pieces = Array.from(whole.matchAll(SHELL_WORDS), ([piece]) => piece);
  const fed = fedPieces(pieces);
  for (const [at, piece] of pieces.entries()) {
    if (/^\s+$/.test(piece)) {
      if (piece.includes("\n")) words = new Words();
      masked += piece;
    } else if (/^[;|&()<>]$/.test(piece)) {
      words = new Words();
      masked += piece;
    } else masked += fed.has(at) ? maskWhole(piece) : maskShellWord(words, piece);
  }
  return masked;
}

function maskWhole(piece: string): string {
  const [, quote = ""] = /^(["'])[^]*\1$/.exec(piece) ?? [];
  return `${quote}${MASK}${quote}`;
}

function maskShellWord(words: Words, piece: string): string {
  const [, quote = "", inner = piece] = /^(["'])([^]*)\1$/.exec(piece) ?? [];
  return inner.includes(quote) && quote !== "" ? words.mask(piece) : `${quote}${words.mask(inner)}${quote}`;
}

/** Masks the secrets in a command line, or in a text that may contain command lines. */
export function maskLine(line: string): string {
  return maskCommand(["sh", "-c", line])[2] ?? "";
}

/** Masks the secrets in the words of a command, including those in a string that `sh -c` runs. */
export function maskCommand(argv: readonly string[]): string[] {
  const words = new Words();
  return argv.map((word) => words.mask(word));
}
