import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type ChangeEvent, useDeferredValue, useEffect, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { visible } from "../parts/words.ts";

const NAMES = ["actor", "kind", "text", "file", "since"] as const;

type Name = (typeof NAMES)[number];

/** The times that can be chosen. The address may name any other moment. */
const TIMES: readonly (readonly [since: string, words: string])[] = [
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
  const actors = [
    ...new Set([...items.map(({ actor }) => actor), ...(search.actor === undefined ? [] : [search.actor])]),
  ];
  const isOther = search.since !== undefined && !TIMES.some(([since]) => since === search.since);
  const times = isOther ? [...TIMES, [search.since ?? "", `since ${visible(search.since ?? "")}`] as const] : TIMES;
  const choose = (name: Name) => (event: ChangeEvent<HTMLSelectElement>) => put(name, event.target.value);
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
      <select aria-label="By whom" value={search.actor ?? ""} onChange={choose("actor")}>
        <option value="">anybody</option>
        {actors.sort().map((actor) => (
          <option key={actor} value={actor}>
            {visible(actor === "human" ? "person" : actor)}
          </option>
        ))}
      </select>
      <select aria-label="Kind" value={search.kind ?? ""} onChange={choose("kind")}>
        <option value="">everything</option>
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {kind}
          </option>
        ))}
      </select>
      <select aria-label="Time" value={search.since ?? ""} onChange={choose("since")}>
        <option value="">at any time</option>
        {times.map(([since, words]) => (
          <option key={since} value={since}>
            {words}
          </option>
        ))}
      </select>
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
