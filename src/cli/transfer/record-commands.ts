/** The commands that move records in and out: `import` and `export`. */
import { REDACTION, WHERE } from '../admin/commands.ts'
import type { CommandDescription } from '../command.ts'

const FORMAT = { flags: '--format <format>', text: 'csv or ndjson (default: by the ending of the file, else csv)' }
const DELIMITER = { flags: '--delimiter <character>', text: 'between two fields of CSV (default: a comma; a tab for .tsv)' }

export const IMPORT: CommandDescription = {
  name: 'import',
  args: [
    { name: '<table>', text: 'the table that the records are for' },
    { name: '<file>', text: 'a CSV or NDJSON file, or - for standard input' },
  ],
  summary: 'Import records. Run again after an interruption, it goes on, and stores nothing twice.',
  options: [
    FORMAT,
    { flags: '--mapping <file>', text: 'JSON: columns, formats, delimiter, trim, empty, as docs/importing.md has them' },
    DELIMITER,
    { flags: '--name <name>', text: 'identifies the import (default: the name of the file; without one, - cannot go on)' },
    {
      flags: '--upsert <column>',
      text: 'update the record that has the same value in this unique column, or in columns that are unique together: tenant,email',
    },
    { flags: '--dry-run', text: 'check every record, and store nothing' },
    { flags: '--rejects <file>', text: 'write each rejected record there: a line of JSON with its line, column and reason' },
    { flags: '--batch <number>', text: 'records of one transaction, at most limits.maxRecords (default: 1000)' },
  ],
  examples: [
    'strongroom import customers customers.csv --dry-run',
    'strongroom import customers customers.csv --mapping customers.map.json --rejects rejects.ndjson',
    'zcat customers.ndjson.gz | strongroom import customers - --format ndjson --name customers-2026',
  ],
  load: async () => (await import('./import-command.ts')).importCommand,
}

export const EXPORT: CommandDescription = {
  name: 'export',
  args: [{ name: '<table>', text: 'the table to export' }],
  summary: 'Export records as CSV or NDJSON, at the levels of the caller.',
  options: [
    { ...FORMAT, text: 'csv or ndjson (default: by the ending of --out, else csv; ndjson with --json)' },
    { flags: '--columns <names>', text: 'only these columns in this order, joined by commas', isList: true },
    WHERE,
    REDACTION,
    { flags: '--tokens', text: 'tokens in place of values' },
    { flags: '--complete', text: 'fail rather than write a masked or redacted value' },
    { flags: '--id-name <name>', text: 'write the id of each record in a column of this name' },
    DELIMITER,
    { flags: '--out <file>', text: 'a new file, readable by this account only (default: standard output)' },
  ],
  examples: [
    'strongroom export customers --out customers.csv',
    'strongroom export customers --redaction PLAIN_TEXT --columns name,email --where country=SE --json',
  ],
  load: async () => (await import('./export-command.ts')).exportCommand,
}
