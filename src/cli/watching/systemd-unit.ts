import { printable } from "../../process/printable.ts";
import { factsOf, type InstalledService, readFacts, START_AGAIN, type WatchService } from "./watch-service.ts";

const FACTS = "Facts=";

/**
 * Returns the text of a systemd user unit. systemd starts the unit with the user manager, restarts it after every
 * failure, and ends it by SIGTERM.
 */
export function systemdUnit(service: WatchService): string {
  const variables = Object.entries(service.env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`);
  return `# Made by \`chronicle watch --install\`; \`chronicle watch --uninstall\` removes it.
[Unit]
Description=${withoutSpecifiers(`Chronicle records "${printable(service.folder)}"`)}
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${commandLine(service.command)}
${variables.map((line) => `${line}\n`).join("")}Restart=on-failure
RestartSec=5
RestartForceExitStatus=${START_AGAIN}
SuccessExitStatus=${START_AGAIN}
TimeoutStopSec=60

[Install]
WantedBy=default.target

[X-Chronicle]
${FACTS}${factsOf(service)}
`;
}

/** Returns the facts about the service that the unit contains; `undefined` if this program has not made the text. */
export function readSystemdUnit(text: string): InstalledService | undefined {
  const line = text.split("\n").find((one) => one.startsWith(FACTS));
  return readFacts(line?.slice(FACTS.length));
}

/**
 * Returns the value of `ExecStart`. systemd replaces `$NAME` in all words except the path of the program
 * (systemd.service(5)).
 */
function commandLine([program = "", ...rest]: readonly string[]): string {
  return [quoted(program), ...rest.map((word) => quoted(word).replaceAll("$", "$$$$"))].join(" ");
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r" };

/** Quotes a word (systemd.syntax(7)). Control characters become escapes, and `%` is doubled (systemd.unit(5)). */
function quoted(word: string): string {
  const inner = word.replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\\"\u0000-\u001f\u007f]/g,
    (char) => ESCAPES[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${withoutSpecifiers(inner)}"`;
}

function withoutSpecifiers(text: string): string {
  return text.replaceAll("%", "%%");
}
