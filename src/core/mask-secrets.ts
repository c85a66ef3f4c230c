/**
 * Commands are recorded with what was run, and often hold secrets. This takes out what can be recognised by its name
 * (`--token`, `API_KEY=`, `Authorization:`), its place (`curl -u`, `mysql -p`, user info in a URL) or its shape. Rather
 * too much than too little; a secret in an unnamed argument of unknown shape cannot be recognised.
 */

/** What stands where a secret was. */
export const MASK = "***";

/** Words that make a name secret wherever they stand in it. `max-tokens` and `token-file` do not: see `isSecretName`. */
const STRONG =
  /token(?!s|iz)|passw(?:or)?d|passphrase|secret|api[-_.]?key|access[-_.]?key|private[-_.]?key|credential/i;
/** Words that do so only as the last part of a name of several, or as the whole name. */
const LAST = /^(?:pass|pat|auth|bearer|cookie|jwt)$/i;
/** Last parts that only count after another: `KEY=`, `PWD=` alone are harmless. */
const LAST_OF_MANY = /^(?:key|pwd)$/i;
/** Last parts of names that say where a secret is, or something about it. */
const HARMLESS =
  /^(?:file|path|dir|stdin|fd|url|uri|ttl|expiry|expires|length|len|name|type|id|count|limit|policy|prompt|helper)$/i;

/** Is it the name of a flag, variable, header or field whose value is secret? */
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

/** Shapes of well-known tokens and keys. */
const SHAPES = [
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
  /\bAGE-SECRET-KEY-1\w{20,}/g,
  /\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g,
];

/** User info in a URL. */
const USER_INFO = /\b([a-z][a-z\d+.-]{1,20}:\/\/)([^\s/?#'"]{1,1000})@/gi;
const BEARER = /\b(bearer\s{1,4})[\w.~+/=-]{8,}/gi;

/** Something with a name and a value. `name` is global, `value` sticky: it is looked for where the name ends. */
interface NamedRule {
  readonly name: RegExp;
  readonly value: RegExp;
  readonly isSecret: (name: string) => boolean;
  readonly mask: string;
}

/** Names are bounded in length so that the time stays in proportion to the text. */
const NAMED_RULES: readonly NamedRule[] = [
  // A header: the value goes up to the closing quote or the end of the line. The scheme before it stays.
  {
    name: /(?<![\w-])([a-z][\w-]{2,63})\s{0,4}:\s{0,4}(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{1,4})?/gi,
    value: /[^\s'"][^'"\r\n]*/y,
    isSecret: isSecretHeader,
    mask: MASK,
  },
  // A field of a JSON object, also one that is a string in another.
  {
    name: /["']([\w.-]{1,64})\\{0,3}["']\s{0,4}:\s{0,4}/g,
    value: /\\{1,3}["'][^"']*["']?|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,}"']+/y,
    isSecret: isSecretName,
    mask: `"${MASK}"`,
  },
  // An assignment: a variable, a flag, a field of a form or of a URL's query.
  {
    name: /(?<![\w.])([a-z_][\w.-]{0,63})=/gi,
    value: /"[^"]*"?|'[^']*'?|[^\s&;|'"]+/y,
    isSecret: isSecretName,
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
  for (const rule of NAMED_RULES) masked = maskNamed(masked, rule);
  return masked.replace(BEARER, (_match, word: string) => `${word}${MASK}`);
}

function maskShapes(text: string): string {
  return SHAPES.reduce((masked, shape) => masked.replace(shape, MASK), text);
}

/** How a tool takes a secret: `next` argument, `attached` to the flag, or a `user:secret` in the next argument. */
interface ToolFlag {
  readonly flags: readonly string[];
  readonly takes: "next" | "attached" | "user";
  /** Only after this subcommand. */
  readonly after?: string;
}

const DATABASE: readonly ToolFlag[] = [{ flags: ["-p"], takes: "attached" }];
const LOGIN: readonly ToolFlag[] = [{ flags: ["-p"], takes: "next", after: "login" }];
const DASH_P: readonly ToolFlag[] = [{ flags: ["-p"], takes: "next" }];
const DASH_CAPITAL_P: readonly ToolFlag[] = [{ flags: ["-P"], takes: "next" }];

const TOOLS: Readonly<Record<string, readonly ToolFlag[]>> = {
  "7z": DATABASE,
  az: LOGIN,
  curl: [{ flags: ["-u", "--user", "-U", "--proxy-user"], takes: "user" }],
  docker: LOGIN,
  helm: LOGIN,
  ldapsearch: [{ flags: ["-w"], takes: "next" }],
  mariadb: DATABASE,
  mongo: DASH_P,
  mongosh: DASH_P,
  mysql: DATABASE,
  mysqladmin: DATABASE,
  mysqldump: DATABASE,
  podman: LOGIN,
  "redis-cli": [{ flags: ["-a"], takes: "next" }],
  sqlcmd: DASH_CAPITAL_P,
  sshpass: [...DASH_P, ...DATABASE],
  twine: DASH_P,
  unzip: DASH_CAPITAL_P,
  zip: DASH_CAPITAL_P,
};

const SHELL = /^(?:ba|da|z|k|a|fi)?sh$|^su$|^eval$/;

/** What is known about a command as its words go by. */
class Words {
  #tool: readonly ToolFlag[] = [];
  #isShell = false;
  #isSsh = false;
  #seen = new Set<string>();
  /** How the next word is to be taken. */
  #next: "plain" | "secret" | "user" | "command" = "plain";

  mask(word: string): string {
    const as = this.#next;
    this.#next = "plain";
    // `--token --verbose`: a flag without a value.
    if (as === "secret" && !/^--[a-z]/i.test(word)) return MASK;
    if (as === "user" && word.includes(":")) return `${word.slice(0, word.indexOf(":"))}:${MASK}`;
    if (as === "command" || (this.#isSsh && /\s/.test(word))) return maskShell(word);
    const attached = this.#attached(word);
    if (attached === undefined) this.#look(word);
    return attached ?? maskText(word);
  }

  /** Learn the program, and what the word says about the next one. */
  #look(word: string): void {
    const program = word.slice(word.lastIndexOf("/") + 1);
    if (SHELL.test(program)) [this.#isShell, this.#tool] = [true, []];
    else if (Object.hasOwn(TOOLS, program)) this.#tool = TOOLS[program] ?? [];
    else if (program === "ssh") this.#isSsh = true;
    if (program === "eval" || (this.#isShell && /^-[a-z]*c$/.test(word))) this.#next = "command";
    else if (/^--?[a-z][\w.-]{2,63}$/i.test(word) && isSecretName(word.replace(/^-+/, ""))) this.#next = "secret";
    const flag = this.#tool.find(({ flags }) => flags.includes(word));
    if (flag !== undefined && flag.takes !== "attached" && this.#isAfter(flag)) {
      this.#next = flag.takes === "user" ? "user" : "secret";
    }
    this.#seen.add(word);
  }

  #isAfter(flag: ToolFlag): boolean {
    return flag.after === undefined || this.#seen.has(flag.after);
  }

  /** A secret in the same word as its flag or name. */
  #attached(word: string): string | undefined {
    const [, name, value] = /^(-{0,2}[a-z_][\w.-]{0,63})=([^]+)$/i.exec(word) ?? [];
    if (name !== undefined && value !== undefined && isSecretName(name.replace(/^-+/, ""))) return `${name}=${MASK}`;
    if (/^-H./.test(word)) return `-H${maskText(word.slice(2))}`;
    if (/^pass:./.test(word)) return `pass:${MASK}`;
    for (const flag of this.#tool) {
      const start = flag.flags.find(
        (text) => word.length > text.length && word.startsWith(text) && !word.startsWith("--"),
      );
      if (start === undefined || !this.#isAfter(flag)) continue;
      const rest = word.slice(start.length);
      return flag.takes === "user" ? `${start}${maskUser(rest)}` : `${start}${MASK}`;
    }
    return undefined;
  }
}

/** A word of a shell command, quotes and all; or what stands between words. */
const SHELL_WORDS = /(?:"(?:[^"\\]|\\[^])*"|'[^']*'|\\[^]|[^\s;|&()<>"'\\])+|\s+|[^]/g;

function maskShell(command: string): string {
  let words = new Words();
  let masked = "";
  // Private keys run over many words: they are taken out before the command is split.
  for (const [piece] of maskShapes(command).matchAll(SHELL_WORDS)) {
    if (/^\s+$/.test(piece)) {
      if (piece.includes("\n")) words = new Words();
      masked += piece;
    } else if (/^[;|&()<>]$/.test(piece)) {
      words = new Words();
      masked += piece;
    } else {
      masked += maskShellWord(words, piece);
    }
  }
  return masked;
}

function maskShellWord(words: Words, piece: string): string {
  const [, quote = "", inner = piece] = /^(["'])([^]*)\1$/.exec(piece) ?? [];
  return inner.includes(quote) && quote !== "" ? words.mask(piece) : `${quote}${words.mask(inner)}${quote}`;
}

/** The command with its secrets replaced by `***`, word for word. Also inside the strings given to `sh -c`. */
export function maskCommand(argv: readonly string[]): string[] {
  const words = new Words();
  return argv.map((word) => words.mask(word));
}
