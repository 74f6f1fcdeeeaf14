/** The retired words as data: what to write in place of each, and the files in which one keeps its plain meaning. */

/** Words of which one row retires all, separated by `|`. A trailing `*` stands for any ending. */
interface RetiredRow {
  readonly words: string
  /** What to write in place. */
  readonly use: string
  /** The files that the row is about; all files if absent. */
  readonly in?: RegExp
}

/**
 * Retired in comments, strings, prose and as a part of an identifier: `lane` also retires `auditLane` and `LANE_LOST`.
 * A row may be a phrase; it also matches across a line break.
 */
export const RETIRED_WORDS: readonly RetiredRow[] = [
  // Audit
  { words: 'lane|lanes', use: 'chain, connection, executor or batch item' },
  { words: 'deed|deeds', use: 'operation' },
  { words: 'story|stories', use: 'events, or the name of what it says' },
  { words: 'told|tell|tells|telling|untold', use: 'record, return, explain or identify' },
  { words: 'undone', use: 'rolled back' },
  // Tokens and cells
  { words: 'stamp|stamps|stamped', use: 'token check' },
  { words: 'ticket|tickets', use: 'transient reference', in: /^src\/core\/(barrier|tokens)\/|^src\/core\/records\/transient/ },
  { words: 'brought|bring your token', use: 'supplied' },
  { words: 'disguise*|undisguise*', use: 'encrypt and decrypt pointers' },
  { words: 'admit|admits|admitted|amend|amends|amended', use: 'seal or reseal rows' },
  { words: 'token lead|token leads|follow leads', use: 'token candidate' },
  // Policy, queries and storage
  { words: 'judge*|judging', use: 'evaluate' },
  { words: 'doomed', use: 'target of the delete' },
  { words: 'partner|partners', use: 'matching row, or join side' },
  { words: 'sift|sifts|sifted', use: 'residual filter' },
  { words: 'held row|held rows', use: 'buffered row' },
  { words: 'allot|allots|allotted|allotment*', use: 'assign ids, or catalog schema' },
  { words: 'manner|manners', use: 'dialect, variant, or engine-specific behavior' },
  { words: 'rule broken', use: 'unprocessable or failed_precondition' },
  { words: 'facts', use: 'details, attributes or fields' },
  { words: 'settle|settles|settled|settling', use: 'resolve or choose' },
  { words: 'luck|lucky', use: 'random' },
  // Structure and tests
  { words: 'house|houses|stairs', use: 'modules and layers' },
  { words: 'room|rooms', use: 'module' },
  { words: 'door|doors', use: 'entry point' },
  { words: 'exam|exams', use: 'conformance suite' },
  { words: 'adapter contract', use: 'storage conformance' },
  { words: 'bench|benches', use: 'benchmark or fixture' },
  { words: 'crowd|crowds', use: 'people, or samples' },
  { words: 'twin|twins', use: 'paired vaults' },
  {
    words: 'floor|floors|peer|peers',
    use: 'baseline and alternative',
    in: /^(benchmarks|docs\/benchmarks|test\/benchmarks)/,
  },
  // Public words
  { words: 'batch id', use: 'nothing: items run in order', in: /^src\/core\// },
  { words: 'column values', use: 'where', in: /^(src\/core\/(operations|vault)\/|docs\/(reading|writing)\.md)/ },
  // Prose
  { words: 'he|him|his|himself|she|her|hers', use: 'the caller, or they' },
  {
    words: 'somebody|nobody|anybody|everybody|someone|anyone|everyone|whoever',
    use: 'the role: caller, operator, attacker, other process',
  },
  { words: 'stranger|strangers', use: 'caller, or other process' },
  { words: 'unless said|unless said otherwise', use: 'default' },
  { words: 'is none|are none', use: 'is not a …' },
  { words: 'stand|stands|stood', use: 'exists, is stored, is valid, or is located' },
  { words: 'may not be had|could be had|can be had', use: 'cannot' },
  // American spelling
  {
    words: 'behaviour*|colour*|favour*|honour*|neighbour*|labour*|flavour*|harbour*|rumour*',
    use: 'the American spelling in -or',
  },
  {
    words:
      'authoris*|canonicalis*|capitalis*|categoris*|customis*|emphasis|emphasise*|finalis*|generalis*|initialis*|materialis*|maximis*|' +
      'minimis*|normalis*|optimis*|organis*|parameteris*|penalis*|prioritis*|pseudonymis*|randomis*|recognis*|serialis*|specialis*|' +
      'standardis*|summaris*|synchronis*|tokenis*|utilis*|analyse|analysed|analysing|deserialis*|realise*|anonymis*',
    use: 'the American spelling in -ize',
  },
  { words: 'centre*|catalogue*|defence*|licence*|grey', use: 'the American spelling' },
]

/** Phrases in which a retired word keeps its plain meaning everywhere. */
export const KEPT_PHRASES: readonly string[] = [
  'all settled', // Promise.allSettled
  'stand for',
  'stands for',
  'stood for',
  'stand in for',
  'stands in for',
  'room for',
  'there is none',
  'there are none',
  'math floor',
  'run bench',
  'room left',
  'settle the promise',
  'settle ms', // The option settleMs of rotateKeys.
]

/** Retired as a whole identifier, wherever it is written. A trailing `*` stands for any ending. */
export const RETIRED_NAMES: Readonly<Record<string, string>> = {
  'MOST_*': 'MAX_…',
  'LONGEST_*': 'MAX_…',
  'DEEPEST_*': 'MAX_…',
  'HIGHEST_*': 'MAX_…',
  'LARGEST_*': 'MAX_…',
  'FARTHEST_*': 'MAX_…',
  'LEAST_*': 'MIN_…',
  'FEWEST_*': 'MIN_…',
  'SMALLEST_*': 'MIN_…',
  AskedLevel: 'Redaction',
  Byot: 'ByotMode',
  SpanFacts: 'SpanAttributes',
  WrappedSecret: 'WrappedKey',
  EventAction: 'ActionType',
  AfterEvent: 'AuditAfterOptions',
  ChainVerdict: 'VerificationResult',
  ChainBreak: 'VerificationFailure',
  Verdict: 'ExportVerificationResult',
  ExportBreak: 'ExportFailure',
  VerifyOptions: 'VerifyAuditOptions or VerifyExportOptions',
  PlaceIn: 'TargetIn',
  namedStatements: 'preparedStatements',
  AnsweredFields: 'OutputFields',
  NewFields: 'InsertFields',
  ChangedFields: 'UpdateFields',
  ShownRecord: 'UntypedRecord',
  ShowOptions: 'ReadOptions',
  Measure: 'Aggregate',
  Doomed: 'DeleteTarget',
  Telling: 'EventState',
  LaneHead: 'ChainHead',
  LaneMark: 'TreeHead',
  ChainCheck: 'ChainVerifier',
  Chaining: 'ChainInput',
  Chained: 'ChainOutput',
  commitTogether: 'createGroupCommit',
  settlingCommit: 'resolveInDoubtCommit',
  Sift: 'ResidualFilter',
  HeldRow: 'BufferedRow',
  createPartners: 'createJoinSide',
  Claims: 'ColumnUses',
  judgeRows: 'evaluateAccess',
  Reach: 'RowVisibility',
  followLeads: 'verifyCandidates',
  Allotment: 'CatalogSchema',
  SIDE_TABLES: 'SYSTEM_TABLES',
  NOT_DERIVED: 'NO_DERIVATION',
  TokenHome: 'TokenLocation',
  AuditSpace: 'AuditEntryKind',
  TextSpace: 'TokenDomain',
  STAMP_BYTES: 'TOKEN_CHECK_BYTES',
  MarkSources: 'TokenSources',
  MarkPlace: 'CheckPlacement',
  admitRows: 'sealRows',
  amendRows: 'resealRows',
  writeContexts: 'writeAssociatedData',
  CONTEXT_BYTES: 'AAD_BYTES',
  KeyEngine: 'KeyRingFactory',
  keyEngine: 'keyRingFactory',
  TextFault: 'LanguageError',
  ValueFault: 'ValueError',
  TokenFault: 'TokenFormatError',
  MaskFault: 'MaskError',
  PatternFault: 'PatternError',
  Surroundings: 'ResolveInput',
  encipherApart: 'encryptDeranged',
  apartFrom: 'excluding',
  SqlManners: 'SqlDialect',
  oneByOne: 'runSequentially',
  toPostgresFault: 'mapPostgresError',
  toEngineFault: 'mapSqliteError',
  inOwnWords: 'withMappedErrors',
  handUp: 'returnBlocks',
  atHand: 'available',
  allOrNone: 'atomically',
  portOver: 'createPort',
  callersAtOnce: 'runConcurrently',
  luckOf: 'randomFor',
  HOUSE_RULES: 'MODULE_RULES',
  WAITING_ROOMS: 'ASYNC_MODULES',
}

/** Retired words that a file may use, and why. */
interface Allowance {
  readonly in: RegExp
  readonly words: readonly string[]
  readonly reason: string
}

export const ALLOWED_WORDS: readonly Allowance[] = [
  {
    in: /^test\/(support\/architecture\/retired-words|architecture\.test|vocabulary\.test)\.ts$/,
    words: ['*'],
    reason: 'They contain the retired words themselves, and sentences that break the rule.',
  },
  { in: /^src\/core\/expressions\/unsupported\.ts$/, words: ['analyse'], reason: 'ANALYSE is a statement of PostgreSQL.' },
  { in: /^src\/adapters\/keys\/wasm\/(gcm|wasm)\.ts$/, words: ['room'], reason: 'Space in a region of memory.' },
  { in: /^(benchmarks\/|docs\/|README|CONTRIBUTING)/, words: ['bench'], reason: 'The command is npm run bench.' },
  { in: /^benchmarks\/fixtures\/people\.ts$/, words: ['harbour', 'lane'], reason: 'Names of streets.' },
  { in: /^test\/support\/postgres\/server\.ts$/, words: ['nobody'], reason: 'The account of that name in the operating system.' },
]
