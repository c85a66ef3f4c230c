import { factsOf, type InstalledService, readFacts, type WatchService } from "./watch-service.ts";

const FACTS = /<key>ChronicleFacts<\/key>\s*<string>([^<]*)<\/string>/;

/**
 * Returns the property list of a launchd agent. launchd starts the agent at each login, and again after a failure
 * (launchd.plist(5)). `label`: the name of the agent.
 */
export function launchdAgent(label: string, service: WatchService): string {
  const env = Object.entries(service.env).map(([name, value]) => `    <key>${xml(name)}</key>\n    ${string(value)}\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Made by the option "install" of chronicle watch; its option "uninstall" removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${string(label)}
  <key>ProgramArguments</key>
  <array>
${service.command.map((word) => `    ${string(word)}\n`).join("")}  </array>
  <key>EnvironmentVariables</key>
  <dict>
${env.join("")}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>ExitTimeOut</key>
  <integer>60</integer>
  <key>ChronicleFacts</key>
  ${string(factsOf(service))}
</dict>
</plist>
`;
}

/**
 * Returns the facts about the service that the property list contains; `undefined` if this program has not made the
 * text.
 */
export function readLaunchdAgent(text: string): InstalledService | undefined {
  const [, facts] = FACTS.exec(text) ?? [];
  return readFacts(facts === undefined ? undefined : fromXml(facts));
}

function string(text: string): string {
  return `<string>${xml(text)}</string>`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

function xml(text: string): string {
  return text.replaceAll(/[&<>]/g, (char) => ENTITIES[char] ?? char);
}

function fromXml(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
