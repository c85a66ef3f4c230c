/** Nothing that is younger than a day is pruned by a command or a hook, unless `config.yaml` says otherwise. */
export const retentionDefaults = { min_age_hours: 24 } as const;
