import { Bot, CircleHelp, CloudDownload, Terminal, User } from "lucide-react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { visible } from "./words.ts";

type Who = RecentItem["who"];

const ICONS: Readonly<Record<Who, typeof Bot>> = {
  agent: Bot,
  "sub-agent": Bot,
  person: User,
  command: Terminal,
  replica: CloudDownload,
  origin: CloudDownload,
  unknown: CircleHelp,
};

/** The number of colours for actors in `tokens.css`. */
const HUES = 8;

/** Returns the number of an actor's colour, which is the same in every view. */
export function hueOf(actor: string): number {
  let hash = 0;
  for (const character of actor) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return hash % HUES;
}

/** Shows the name of an actor, in the actor's colour, with an icon for the kind of actor. */
export function Actor({ actor, who }: { readonly actor: string; readonly who: Who }) {
  const Icon = ICONS[who];
  return (
    <span className={`actor hue-${hueOf(who === "command" ? who : actor)}`} title={`${who}: ${visible(actor)}`}>
      <Icon size={13} aria-hidden="true" />
      <span className="actor-name">{visible(actorName(actor, who))}</span>
    </span>
  );
}

/** Returns the name of an actor as people say it. */
export function actorName(actor: string, who: Who): string {
  if (who === "person" && (actor === "human" || actor === "")) return "person";
  if (who === "command") return who;
  if (actor === "ambiguous" || actor === "") return "unknown";
  return actor;
}
