import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useDeferredValue, useEffect, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { visible } from "../parts/words.ts";

const NAMES = ["actor", "kind", "text", "file", "since"] as const;

type Name = (typeof NAMES)[number];

/** The times that can be chosen. The address may name any other moment. */
const TIMES: Options = [
  ["1h", "last hour"],
  ["1d", "last 24 hours"],
  ["7d", "last 7 days"],
  ["30d", "last 30 days"],
];

const KINDS: readonly RecentItem["kind"][] = [
  ...(["turn", "run", "action", "edit", "watch", "write", "transaction", "restore"] as const),
  ...(["undo", "redo", "resolve", "snapshot", "sync", "baseline"] as const),
];

/** Shows the filters of the list. The address of the page contains their values. */
export function Filters({ items }: { readonly items: readonly RecentItem[] }) {
  const search = useSearch({ from: "/w/$workspace/" });
  const navigate = useNavigate({ from: "/w/$workspace/" });
  const put = (name: Name, value: string): void => {
    void navigate({
      replace: true,
      search: ({ [name]: _before, ...rest }) => (value === "" ? rest : { ...rest, [name]: value }),
    });
  };
  const isAny = NAMES.some((name) => search[name] !== undefined);
  return (
    <form className="filters" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <TextFilter
        key={`text ${search.text ?? ""}`}
        what="Prompt or command"
        text={search.text ?? ""}
        onText={(text) => put("text", text)}
      />
      <TextFilter
        key={`file ${search.file ?? ""}`}
        what="File or folder"
        text={search.file ?? ""}
        onText={(file) => put("file", file.replace(/\/+$/, ""))}
      />
      <Choice
        what="By whom"
        all="anybody"
        value={search.actor}
        options={actorsIn(items, search.actor)}
        onChoice={(actor) => put("actor", actor)}
      />
      <Choice
        what="Kind"
        all="everything"
        value={search.kind}
        options={KINDS.map((kind) => [kind, kind])}
        onChoice={(kind) => put("kind", kind)}
      />
      <Choice
        what="Time"
        all="at any time"
        value={search.since}
        options={timesWith(search.since)}
        onChoice={(since) => put("since", since)}
      />
      {isAny ? (
        <button
          type="button"
          className="button quiet-button"
          onClick={() => void navigate({ search: ({ work }) => (work === undefined ? {} : { work }), replace: true })}
        >
          Clear
        </button>
      ) : null}
    </form>
  );
}

type Options = readonly (readonly [value: string, words: string])[];

function actorsIn(items: readonly RecentItem[], chosen: string | undefined): Options {
  const actors = new Set([...items.map(({ actor }) => actor), ...(chosen === undefined ? [] : [chosen])]);
  return [...actors].sort().map((actor) => [actor, visible(actor === "human" ? "person" : actor)]);
}

function timesWith(chosen: string | undefined): Options {
  if (chosen === undefined || TIMES.some(([since]) => since === chosen)) return TIMES;
  return [...TIMES, [chosen, `since ${visible(chosen)}`]];
}

interface ChoiceProps {
  readonly what: string;
  /** The words for no choice. */
  readonly all: string;
  readonly value: string | undefined;
  readonly options: Options;
  readonly onChoice: (value: string) => void;
}

function Choice({ what, all, value = "", options, onChoice }: ChoiceProps) {
  return (
    <select aria-label={what} value={value} onChange={(event) => onChoice(event.target.value)}>
      <option value="">{all}</option>
      {options.map(([one, words]) => (
        <option key={one} value={one}>
          {words}
        </option>
      ))}
    </select>
  );
}

interface TextFilterProps {
  readonly what: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function TextFilter({ what, text, onText }: TextFilterProps) {
  const [typed, setTyped] = useState(text);
  const settled = useDeferredValue(typed);
  useEffect(() => {
    if (settled === text) return undefined;
    const timer = setTimeout(() => onText(settled), 250);
    return () => clearTimeout(timer);
  }, [settled, text, onText]);
  return (
    <label className="search-field">
      <Search size={14} aria-hidden="true" />
      <input
        type="search"
        placeholder={what}
        aria-label={what}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </label>
  );
}
