import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { personsCommandIn } from "./persons-commands.ts";

const PLACE = {
  cwd: "/w",
  variables: { HOME: "/home/u", CHRONICLE_HOME: "/home/u/.local/state/chronicle", XDG_CONFIG_HOME: "/home/u/.config" },
  folders: ["/home/u/.local/state/chronicle", "/home/u/.config/chronicle"],
};

function judged(line: string): string | undefined {
  return personsCommandIn(line, PLACE);
}

describe("commands that only a person may give", () => {
  test.each([
    ["chronicle forget 01JD -y", "chronicle forget"],
    ["/usr/local/bin/chronicle gc", "chronicle gc"],
    ["'chronicle' \"forget\" x", "chronicle forget"],
    ["chron\\icle for'get' x", "chronicle forget"],
    ["ls && chronicle prune --keep-last 0 -y", "chronicle prune"],
    ["echo y | chronicle forget x", "chronicle forget"],
    ["false || { chronicle gc; }", "chronicle gc"],
    ["(cd /tmp; (chronicle gc))", "chronicle gc"],
    ["if true; then chronicle gc; fi", "chronicle gc"],
    ["bash -c 'chronicle forget x -y'", "chronicle forget"],
    ["bash -lc \"sh -c 'chronicle gc'\"", "chronicle gc"],
    ["eval chronicle gc", "chronicle gc"],
    ["echo $(chronicle forget x -y)", "chronicle forget"],
    ['echo "`chronicle gc`"', "chronicle gc"],
    ["cat <(chronicle gc)", "chronicle gc"],
    ["CHRONICLE_ROLE= chronicle gc", "chronicle gc"],
    ["env -u CHRONICLE_ROLE A=b chronicle gc", "chronicle gc"],
    ["sudo -u me chronicle gc", "chronicle gc"],
    ["command chronicle gc", "chronicle gc"],
    ["nohup setsid timeout -k 5 10 chronicle gc &", "chronicle gc"],
    ["npx chronicle gc", "chronicle gc"],
    ["npx -y @chronicle-dev/chronicle@latest forget x", "chronicle forget"],
    ["npx -p @chronicle-dev/chronicle -- chronicle gc", "chronicle gc"],
    ["npx -c 'chronicle gc'", "chronicle gc"],
    ["npm exec -- chronicle gc", "chronicle gc"],
    ["pnpm dlx @chronicle-dev/chronicle gc", "chronicle gc"],
    ["node --no-warnings ./node_modules/.bin/chronicle gc", "chronicle gc"],
    ["node /opt/chronicle/bin/chronicle.js gc", "chronicle gc"],
    ["echo x | xargs -n 1 chronicle forget -y", "chronicle forget"],
    ["find . -name x -exec chronicle forget {} ;", "chronicle forget"],
    ["C=chronicle; $C forget x", "chronicle forget"],
    ["export C='chronicle forget'; $C x", "chronicle forget"],
    ["V=forget && chronicle $V x", "chronicle forget"],
    ["chronicle -w abc --store /s --json forget x", "chronicle forget"],
    ["chronicle -C .. compact --yes --drop-archive", "chronicle compact --drop-archive"],
    ["chronicle agents uninstall claude", "chronicle agents uninstall"],
    ["chronicle config maxBytes 1", "chronicle config"],
    ["chronicle config excludePatterns --clear", "chronicle config"],
    ["chronicle erase --match 'a' -y", "chronicle erase"],
    ["chronicle head --accept -y", "chronicle head --accept"],
    ["chronicle run --otr -- rm b", "chronicle run --otr"],
    ["chronicle run --note x --otr make --help", "chronicle run --otr"],
    ["chronicle run --otr -- make --help", "chronicle run --otr"],
    ["chronicle snapshot --on-record notes", "chronicle snapshot --on-record"],
    ["cd x && \\\n  chronicle gc", "chronicle gc"],
    ["chronicle \\\n  forget 01JD -y", "chronicle forget"],
    ["\\\n\\\n\t\\\nchronicle \\\n\\\n forget x", "chronicle forget"],
    ["chronicle -C \\\n .. gc", "chronicle gc"],
  ])("%s", (line, told) => {
    expect(judged(line)).toBe(told);
  });

  test.each([
    ['rm -rf "$CHRONICLE_HOME"', "/home/u/.local/state/chronicle"],
    ["rm -rf ${CHRONICLE_HOME}/workspaces", "/home/u/.local/state/chronicle/workspaces"],
    ["cd $CHRONICLE_HOME && rm -rf *", "/home/u/.local/state/chronicle/*"],
    ["rm -rf ~/.local", "/home/u/.local"],
    ["rm -fr ~/.local/state/*", "/home/u/.local/state/*"],
    ["rm -rf ~/.{local,cache}", "/home/u/.{local,cache}"],
    ["rm -rf /home/u", "/home/u"],
    ["rm ~/.config/chronicle/key.pem", "/home/u/.config/chronicle/key.pem"],
    ["rm $XDG_CONFIG_HOME/chronicle/heads/*", "/home/u/.config/chronicle/heads/*"],
    ["mv ~/.local/state/chronicle /tmp/x", "/home/u/.local/state/chronicle"],
    ["find ~/.local -delete", "/home/u/.local"],
    ["> ~/.local/state/chronicle/workspaces/a/events.wal", "/home/u/.local/state/chronicle/workspaces/a/events.wal"],
    ["D=/home/u/.local/state; sudo rm -rf $D/chronicle", "/home/u/.local/state/chronicle"],
    ['true && \\\n  rm -rf "$CHRONICLE_HOME"', "/home/u/.local/state/chronicle"],
    ["echo > \\\n  ~/.config/chronicle/key.pem", "/home/u/.config/chronicle/key.pem"],
    ["sed -i s/24/0/ ~/.config/chronicle/forgotten/a.json", "/home/u/.config/chronicle/forgotten/a.json"],
  ])("%s", (line, told) => {
    expect(judged(line)).toBe(told);
  });

  test.each([
    "chronicle list",
    "chronicle undo -y && chronicle restore 3",
    "chronicle unforget 01JD",
    "chronicle config",
    "chronicle config maxBytes",
    "chronicle prune --dry-run",
    "chronicle run -- make --otr",
    "chronicle run make --otr",
    "chronicle snapshot -m x",
    "chronicle compact",
    "chronicle agents status",
    "chronicle head",
    "chronicle forget --help",
    "echo chronicle forget x",
    "git commit -m 'chronicle forget x'",
    "grep -r 'chronicle gc' docs # chronicle gc",
    "cat <<EOF\nchronicle forget x\nEOF",
    "ls $CHRONICLE_HOME",
    "du -sh ~/.local/state/chronicle",
    "rm -rf build node_modules",
    "rm -rf ~/project/*",
    "rm ~/*.log",
    "rm -rf ~/*",
    "mv a ~",
    "cp -r src ~/.local",
    "chmod -R u+w ~",
    "make forget",
    "$X forget y",
    "chronicle $(cat verb) x",
    "chronicle '' forget",
  ])("passes: %s", (line) => {
    expect(judged(line)).toBeUndefined();
  });

  test("never throws, and ends", () => {
    const word = fc.constantFrom(
      "chronicle",
      "forget",
      "$(",
      ")",
      "`",
      "'",
      '"',
      "${",
      "}",
      "sh -c ",
      "eval ",
      "*",
      "{",
      "|",
      ";",
      "\\",
      "rm -rf ",
      "~",
      "=",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(word, fc.string({ maxLength: 3 })), { maxLength: 60 }), (words) => {
        judged(words.join(" "));
        judged(words.join(""));
      }),
    );
    judged(`rm -rf ${"{a,b}".repeat(10_000)} ${"*?".repeat(10_000)}x ~/${"*".repeat(200)}/x`);
    judged("$(".repeat(30_000));
    judged("eval ".repeat(10_000));
  });
});
