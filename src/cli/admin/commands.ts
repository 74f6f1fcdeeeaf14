/** The commands that look at a vault and administer it. */
import { signerOptions } from '../audit/commands.ts'
import type { CommandDescription, OptionDescription } from '../command.ts'

const PACE: OptionDescription = { flags: '--pace <rows>', text: 'rows a second at most, so that other work keeps up' }
/** What a change of the schema cannot know by itself. */
const MOVES: readonly OptionDescription[] = [
  { flags: '--rename <table.column=name>', text: 'a table or column that has another name now', isList: true },
  {
    flags: '--keep <table.column>',
    text: 'a table or column that the schema leaves out on purpose, and that stays stored',
    isList: true,
  },
  { flags: '--erase <table.column>', text: 'a table or column that the schema leaves out, and that is erased', isList: true },
  {
    flags: '--convert <table.column=converter>',
    text: 'what makes the values of a column whose type changes, such as toInteger',
    isList: true,
  },
  { flags: '--finish <table.column>', text: 'a column whose former tokens end', isList: true },
]
const WAIT: OptionDescription = {
  flags: '--wait <seconds>',
  text: 'how long each wait for readers that go by the older schema is; less only while no other process has the vault open (default: 15)',
}
const OUT: OptionDescription = { flags: '--out <file>', text: 'a new file (default: standard output)' }
const YES: OptionDescription = { flags: '--yes', text: 'do not ask' }
export const WHERE: OptionDescription = {
  flags: '--where <column>',
  text: 'records with a value in a look-up column: values on standard input, one a line, or column=value for a plain column',
}
export const REDACTION: OptionDescription = {
  flags: '--redaction <level>',
  text: 'DEFAULT, PLAIN_TEXT, MASKED or REDACTED; never more than the caller is granted',
}
const CONTEXT: OptionDescription = {
  flags: '--context <name=value>',
  text: 'an attribute that a policy knows as ctx.name',
  isList: true,
}

const LOOKING: readonly CommandDescription[] = [
  {
    name: 'status',
    summary: 'Show what the vault is made of and holds: storage, keys, records, files, audit trail, credentials.',
    examples: ['strongroom status', 'strongroom status --json'],
    load: async () => (await import('./status.ts')).status,
  },
  {
    name: 'doctor',
    summary: 'Show everything that is unsafe or will hurt, one line each with what to do; ends with 1 if something is unsafe.',
    examples: ['strongroom doctor'],
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'schema check',
    summary: 'Check the schema of the configuration alone, and list its columns; asks no storage and no key.',
    examples: ['strongroom schema check'],
    load: async () => (await import('./schema.ts')).checkSchema,
  },
  {
    name: 'schema plan',
    summary:
      'Show the steps from the stored schema to that of the configuration: rows, times, who waits, and what is refused; changes nothing.',
    options: MOVES,
    examples: ['strongroom schema plan', 'strongroom schema plan --rename people.born=birth_date'],
    load: async () => (await import('./schema.ts')).planSchema,
  },
  {
    name: 'schema apply',
    summary:
      'Make the schema of the configuration the stored one, beside readers and writers; founds the vault if there is none. Ended early, it goes on when it is run again.',
    options: [...MOVES, PACE, WAIT],
    examples: ['strongroom schema plan && strongroom schema apply'],
    load: async () => (await import('./schema.ts')).applySchema,
  },
  {
    name: 'policy check',
    summary:
      'Check each statement of the policy against the schema, and show those that decide nothing; asks no storage and no key.',
    examples: ['strongroom policy check'],
    load: async () => (await import('./policy.ts')).checkPolicy,
  },
  {
    name: 'policy explain',
    summary: 'Show what the policy allows, column by column, and the statements that decide it; asks no storage and no key.',
    args: [
      { name: '<role>', text: 'the role, or several joined by commas' },
      { name: '<action>', text: 'CREATE, READ, UPDATE, DELETE, TOKENIZATION, DETOKENIZATION, SEARCH or AUDIT' },
      { name: '<table>', text: 'a table of the schema' },
    ],
    options: [CONTEXT],
    examples: ['strongroom policy explain support READ customers'],
    load: async () => (await import('./policy.ts')).explainPolicy,
  },
]

const READING: readonly CommandDescription[] = [
  {
    name: 'get',
    summary: 'Show records at the levels that the caller is granted.',
    args: [
      { name: '<table>', text: 'a table of the schema' },
      { name: '[ids...]', text: 'ids of records (default: the first of the table)' },
    ],
    options: [
      { flags: '--columns <names>', text: 'only these columns, joined by commas', isList: true },
      WHERE,
      REDACTION,
      { flags: '--tokens', text: 'tokens in place of values' },
      { flags: '--limit <count>', text: 'records at most (default: 25)' },
      { flags: '--after <cursor>', text: 'go on where another line ended' },
    ],
    examples: [
      'strongroom get customers --limit 100',
      'strongroom get customers --role support --where country=SE',
      'strongroom get customers --where email < addresses.txt',
    ],
    load: async () => (await import('./read-records.ts')).get,
  },
  {
    name: 'query',
    summary: 'Run a SELECT at the levels that the caller is granted.',
    args: [{ name: '[sql]', text: 'the query, with $1, $2 and so on in place of values' }],
    options: [
      { flags: '--file <file>', text: 'a file with the query; - is standard input' },
      { flags: '--values <file>', text: 'a file with the values as a JSON array; - is standard input' },
    ],
    examples: [
      `strongroom query 'SELECT COUNT(*) FROM customers'`,
      `strongroom query 'SELECT name FROM customers WHERE email = $1' --values - < values.json`,
    ],
    load: async () => (await import('./read-records.ts')).query,
  },
  {
    name: 'detokenize',
    summary: 'Show the values of tokens at the levels that the caller is granted; ends with 1 if one has none.',
    args: [{ name: '[tokens...]', text: 'tokens; - or none reads them from standard input, one a line' }],
    options: [REDACTION],
    examples: ['strongroom detokenize < tokens.txt', 'strongroom detokenize --api-key-env SUPPORT_KEY - < tokens.txt'],
    load: async () => (await import('./read-records.ts')).detokenize,
  },
]

const KEYS: readonly CommandDescription[] = [
  {
    name: 'keys list',
    summary: 'List the root keys, their states, and the processes that do not know the newest one.',
    options: [{ flags: '--count', text: 'count the bodies that each key seals, which reads all of them' }],
    examples: ['strongroom keys list --count'],
    load: async () => (await import('./keys.ts')).listKeys,
  },
  {
    name: 'keys rotate',
    summary: 'Replace the root key that seals, and seal everything again beside readers and writers; goes on where it was ended.',
    options: [
      PACE,
      { flags: '--wait <seconds>', text: 'time for other processes to learn the new key before it seals (default: 0)' },
      { flags: '--dry-run', text: 'change nothing, and count what would be sealed again' },
    ],
    examples: ['strongroom keys rotate --pace 5000'],
    load: async () => (await import('./keys.ts')).rotate,
  },
  {
    name: 'keys rewrap',
    summary: 'Wrap the root keys again with the current key-encryption key, so that the one before can be destroyed.',
    examples: ['strongroom keys rewrap'],
    load: async () => (await import('./keys.ts')).rewrap,
  },
  {
    name: 'keys destroy',
    summary: 'Destroy a retired root key, after it was counted that nothing needs it.',
    args: [{ name: '<version>', text: 'version of the key, as keys list shows it' }],
    options: [YES, { flags: '--losing <count>', text: 'the exact number of bodies that are lost with it (default: 0)' }],
    examples: ['strongroom keys destroy 2'],
    load: async () => (await import('./keys.ts')).destroy,
  },
  {
    name: 'keys rotate-lookups',
    summary:
      'Replace the root key of ids, tokens and digests, beside readers and writers; goes on where it was ended. Rarely right.',
    options: [
      PACE,
      YES,
      { flags: '--wait <seconds>', text: 'time for other processes to learn the new key (default and least: 15)' },
    ],
    examples: ['strongroom keys rotate-lookups --pace 5000'],
    load: async () => (await import('./keys.ts')).rotateLookups,
  },
  {
    name: 'keys token-map',
    summary: 'Print the ids and tokens of a table as they were and as they are, one JSON line a record.',
    args: [{ name: '<table>', text: 'a table of the schema' }],
    examples: ['strongroom keys token-map customers > map.ndjson'],
    load: async () => (await import('./keys.ts')).tokenMap,
  },
  {
    name: 'keys finish-lookups',
    summary: 'End the rotation of look-up keys: compare every digest, and destroy the older key.',
    options: [PACE, YES],
    examples: ['strongroom keys finish-lookups'],
    load: async () => (await import('./keys.ts')).finishLookups,
  },
]

const CREDENTIALS: readonly CommandDescription[] = [
  {
    name: 'credentials create',
    summary: 'Make an API key, shown this once, or the key file of a service account.',
    options: [
      { flags: '--name <name>', text: 'what people call it' },
      { flags: '--grant <role>', text: 'a role of the credential', isList: true },
      { flags: '--expires <when>', text: '12h, 90d, or a date as 2027-01-31 (default: never)' },
      CONTEXT,
      { flags: '--service-account', text: 'a service account, whose key file goes to --out' },
      { flags: '--token-uri <url>', text: 'where its assertions are exchanged (default: http.tokenURI)' },
      { flags: '--out <file>', text: 'a new file for the key, with mode 0600' },
    ],
    examples: [
      'strongroom credentials create --name shop --grant support --expires 90d',
      'strongroom credentials create --name batch --grant VAULT_VIEWER --service-account --out batch.json',
    ],
    load: async () => (await import('./credentials.ts')).createCredential,
  },
  {
    name: 'credentials list',
    summary: 'List credentials, without what verifies them.',
    options: [{ flags: '--all', text: 'also those that are revoked or expired' }],
    examples: ['strongroom credentials list'],
    load: async () => (await import('./credentials.ts')).listCredentials,
  },
  {
    name: 'credentials revoke',
    summary: 'Revoke a credential, in every process at once.',
    args: [{ name: '<key-id>', text: 'its key id, as credentials list shows it' }],
    examples: ['strongroom credentials revoke 5b6f0b6e-7d6e-4d1c-9a55-3f9f1d3b6f10'],
    load: async () => (await import('./credentials.ts')).revokeCredential,
  },
]

const SUBJECT = [
  { name: '<kind>', text: 'a subject of the schema' },
  { name: '<id>', text: 'id of its record' },
]

const SUBJECTS: readonly CommandDescription[] = [
  {
    name: 'subject find',
    summary: 'Count the records of one subject, by table.',
    args: SUBJECT,
    examples: ['strongroom subject find customer 5b6f0b6e-7d6e-4d1c-9a55-3f9f1d3b6f10'],
    load: async () => (await import('./subjects.ts')).findSubject,
  },
  {
    name: 'subject export',
    summary: 'Write all records of one subject as lines of JSON, with a manifest.',
    args: SUBJECT,
    options: [
      { flags: '--contents', text: 'with the contents of files' },
      { flags: '--events', text: 'with the ids of events that name the records, which reads the whole trail' },
      OUT,
    ],
    examples: ['strongroom subject export customer 5b6f0b6e-7d6e-4d1c-9a55-3f9f1d3b6f10 --contents --out customer.ndjson'],
    load: async () => (await import('./subjects.ts')).exportSubject,
  },
  {
    name: 'subject forget',
    summary: 'Delete all records of one subject with their tokens, transient values and files, and print the receipt.',
    args: [
      { name: '[kind]', text: 'a subject of the schema' },
      { name: '[id]', text: 'id of its record' },
    ],
    options: [
      { flags: '--reason <text>', text: 'why, for the receipt: no name' },
      { flags: '--from <file>', text: 'the subjects of this file of `subject forgotten`, after a restore' },
      ...signerOptions('sign the receipt; name of the key in it'),
      YES,
    ],
    examples: [
      `strongroom subject forget customer 5b6f0b6e-7d6e-4d1c-9a55-3f9f1d3b6f10 --reason 'request 4711'`,
      'strongroom subject forget --from forgotten.ndjson --yes',
    ],
    load: async () => (await import('./subjects.ts')).forgetSubject,
  },
  {
    name: 'subject forgotten',
    summary:
      'List the subjects that were forgotten, with their receipts: keep it beside backups, to forget them again after a restore.',
    options: [{ flags: '--since <time>', text: 'from this time on, such as 2026-01-31T12:00:00Z' }, OUT],
    examples: ['strongroom subject forgotten --out forgotten.ndjson'],
    load: async () => (await import('./subjects.ts')).listForgotten,
  },
]

const WORK: readonly CommandDescription[] = [
  {
    name: 'maintenance',
    summary: 'List the slow work of all processes on this vault: what runs, how far it is, since when and where.',
    examples: ['strongroom maintenance'],
    load: async () => (await import('./status.ts')).maintenance,
  },
  {
    name: 'sweep',
    summary:
      'Delete records and values that are kept no longer, expired transient values, files that no record names, and credentials that expired.',
    options: [PACE],
    examples: ['strongroom sweep --pace 5000'],
    load: async () => (await import('./retention.ts')).sweep,
  },
  {
    name: 'compact',
    summary: 'Merge the parts of sealed indexes into one each, without the keys of what was deleted, beside writers.',
    args: [{ name: '[table]', text: 'a table of the schema (default: all)' }],
    options: [PACE],
    examples: ['strongroom compact', 'strongroom compact people --pace 100000'],
    load: async () => (await import('./status.ts')).compact,
  },
  {
    name: 'hold place',
    summary: 'Keep records, or all records of a subject, from being deleted, forgotten and swept.',
    args: [
      { name: '<name>', text: 'a table of the schema, or with --subject one of its subjects' },
      { name: '<ids...>', text: 'ids of records, or that of the subject' },
    ],
    options: [
      { flags: '--subject', text: 'all records of a subject, those to come included' },
      { flags: '--reason <text>', text: 'why; it is sealed' },
      { flags: '--until <when>', text: '12h, 90d, or a date as 2027-01-31 (default: until it is lifted)' },
    ],
    examples: [`strongroom hold place --subject customer 5b6f0b6e-7d6e-4d1c-9a55-3f9f1d3b6f10 --reason 'case 4711'`],
    load: async () => (await import('./retention.ts')).placeHold,
  },
  {
    name: 'hold list',
    summary: 'List the legal holds, with their reasons.',
    examples: ['strongroom hold list'],
    load: async () => (await import('./retention.ts')).listHolds,
  },
  {
    name: 'hold lift',
    summary: 'End a legal hold.',
    args: [{ name: '<id>', text: 'its id, as hold list shows it' }],
    options: [YES],
    examples: ['strongroom hold lift 0c3e9c1e-59e0-4d9b-8a2d-7a3b1f5a1c11'],
    load: async () => (await import('./retention.ts')).liftHold,
  },
  {
    name: 'purge-disk',
    summary:
      'Take the bytes of what was deleted out of the files of the storage, and list where they remain. Writers of SQLite wait.',
    options: [{ flags: '--full', text: 'rewrite the tables of PostgreSQL, whose readers wait meanwhile' }],
    examples: ['strongroom sweep && strongroom purge-disk --full'],
    load: async () => (await import('./status.ts')).purgeDisk,
  },
]

export const ADMIN: readonly CommandDescription[] = [...LOOKING, ...READING, ...KEYS, ...CREDENTIALS, ...SUBJECTS, ...WORK]
