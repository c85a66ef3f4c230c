import { XARGS_VALUED } from "./shell-arguments.ts";
import { readOptions, takesNext } from "./shell-options.ts";
import type { ShellWord } from "./shell-words.ts";

/** A program that runs another one. */
interface Runner {
  /** Options of its own that take a value. */
  readonly valued: ReadonlySet<string>;
  /** So many words of its own stand before the command. */
  readonly own: number;
}

function runners(own: number, all: Readonly<Record<string, string>>): (readonly [string, Runner])[] {
  return Object.entries(all).map(([name, options]) => [name, { valued: new Set(options.split(" ")), own }]);
}

const RUNNERS: ReadonlyMap<string, Runner> = new Map([
  ...runners(0, {
    npx: "-p --package -c --call",
    bunx: "-p --package",
    pnpx: "",
    node: "-r --require --import --loader -C --conditions --env-file",
    nodejs: "-r --require --import --loader -C --conditions --env-file",
    bun: "",
    deno: "",
    xargs: [...XARGS_VALUED].join(" "),
    watch: "-n --interval",
    unshare: "",
    script: "",
    strace: "-e -o",
    ltrace: "-e -o",
    busybox: "",
    screen: "-S -c -h -t -p -e -s -T",
    runuser: "-u -g -G --user --group",
    "systemd-run": "-p -u -E -t --property --unit --setenv",
    prlimit: "",
    nsenter: "-t",
    fakeroot: "",
    unbuffer: "",
    "xvfb-run": "-n -s",
    "dbus-run-session": "",
    caffeinate: "-t -w",
  }),
  ...runners(1, { chroot: "", flock: "-w -E --timeout --wait --conflict-exit-code", taskset: "", chrt: "" }),
]);
/** Words of package managers before the command that they run. */
const PACKAGE_VERBS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["npm", new Set(["exec", "x"])],
  ["pnpm", new Set(["exec", "dlx"])],
  ["yarn", new Set(["exec", "dlx", "run"])],
  ["bun", new Set(["x", "run"])],
  ["deno", new Set(["run"])],
]);
/** So many arguments of `parallel` are tried. */
const MOST_TRIED = 100;

/** The commands that a program is given to run. */
export function commandsRunBy(tool: string, rest: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  if (tool === "parallel") return parallelCommands(rest);
  const verbs = PACKAGE_VERBS.get(tool);
  const runner = RUNNERS.get(tool);
  if (verbs === undefined && runner === undefined) return [];
  const at = firstOperand(rest, runner?.valued ?? new Set(["-p", "--package", "--prefix", "-C", "-w"]));
  const isVerb = verbs?.has(rest[at]?.text ?? "") === true;
  if (verbs !== undefined && runner === undefined && !isVerb) return [];
  if (!isVerb) return [rest.slice(at + (runner?.own ?? 0))];
  const after = rest.slice(at + 1);
  return [after.slice(firstOperand(after, new Set(["-p", "--package"])))];
}

const PARALLEL_VALUED = new Set("-j -N -n -L -a -I -S --jobs --arg-file --sshlogin --results --joblog".split(" "));

/** `parallel COMMAND… ::: ARGUMENT…`: the command with each of the arguments; without a command they are lines, see below. */
function parallelCommands(rest: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  const from = firstOperand(rest, PARALLEL_VALUED);
  const end = rest.findIndex(({ text }, at) => at >= from && text.startsWith(":::"));
  const command = rest.slice(from, end < 0 ? undefined : end);
  if (end < 0 || command.length === 0) return [command];
  const given = rest.slice(end + 1).filter(({ text }) => !text.startsWith(":::"));
  const isNamed = command.some(({ text }) => text.includes("{}"));
  return given.slice(0, MOST_TRIED).map((one) => {
    if (!isNamed) return [...command, one];
    return command.map((word) => ({
      ...word,
      text: word.text.replaceAll("{}", () => one.text),
      known: word.known && (one.known || !word.text.includes("{}")),
    }));
  });
}

const TMUX_VALUED = new Set("-L -S -f -T".split(" "));
const TMUX_VERB_VALUED = new Set("-s -n -c -t -x -y -e -F -l -p -b".split(" "));
const WATCH_VALUED = new Set(["-n", "--interval"]);
const FIND_EXEC = /^-(?:exec|execdir|ok|okdir)$/;

/** The words of a shell line that a program is given to run, joined with blanks; none: it is given none. */
export function linesRunBy(tool: string, rest: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  if (tool === "eval") return [rest];
  if (tool === "trap") return [operandsOf(rest, new Set()).slice(0, 1)];
  if (tool === "watch") return [operandsOf(rest, WATCH_VALUED)];
  if (tool === "tmux") return [operandsOf(operandsOf(rest, TMUX_VALUED).slice(1), TMUX_VERB_VALUED)];
  if (tool === "parallel") {
    const at = rest.findIndex(({ text }) => text === ":::");
    const isBare = at >= 0 && firstOperand(rest, PARALLEL_VALUED) === at;
    return isBare ? rest.slice(at + 1, at + 1 + MOST_TRIED).map((one) => [one]) : [];
  }
  if (!/^(?:npx|npm|su|runuser|script|flock)$/.test(tool)) return [];
  const flag = rest.findIndex(({ text }) => /^(?:-[a-z]*c|--call|--command)$/.test(text));
  return flag < 0 ? [] : [rest.slice(flag + 1, flag + 2)];
}

/** The command behind `-exec` of `find`. */
export function findExec(rest: readonly ShellWord[]): readonly ShellWord[] {
  const at = rest.findIndex(({ text }) => FIND_EXEC.test(text));
  return at < 0 ? [] : rest.slice(at + 1);
}

function operandsOf(words: readonly ShellWord[], valued: ReadonlySet<string>): readonly ShellWord[] {
  return readOptions(words, valued, "the first operand").operands;
}

function firstOperand(words: readonly ShellWord[], valued: ReadonlySet<string>): number {
  let at = 0;
  for (;;) {
    const text = words[at]?.text ?? "";
    if (text === "--") return at + 1;
    if (!text.startsWith("-")) return at;
    at += takesNext(text, valued) ? 2 : 1;
  }
}
