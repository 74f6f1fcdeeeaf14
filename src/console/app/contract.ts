/** What the vault answers to the operations that the shell and several pages use. */

/** How much of a value is shown. */
export type Level = 'PLAIN_TEXT' | 'MASKED' | 'REDACTED'

/** Whether an action is allowed: always, for some records, or never. */
export type Decision = 'ALLOWED' | 'CONDITIONAL' | 'DENIED'

/** Who is signed in: the result of `describeCaller`. */
export interface CallerDescription {
  readonly vaultID: string
  readonly actor: string
  readonly actorType: string
  readonly name?: string
  readonly roles: readonly string[]
  readonly context: Readonly<Record<string, unknown>>
  readonly authMode?: string
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
  readonly can: { readonly audit: boolean; readonly administer: boolean }
  readonly limits: { readonly page: number; readonly query: number }
}

/** One statement of the policy, as far as it is about a column. */
export interface Statement {
  readonly role: string
  /** From 1, in its role. */
  readonly position: number
  readonly effect: 'ALLOW' | 'DENY'
  readonly applies: 'ALWAYS' | 'SOMETIMES' | 'NEVER'
  /** Absent if it names a column that the caller does not know. */
  readonly text?: string
}

/** One column as the caller has it. */
export interface ColumnDescription {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly unique: boolean
  /** Records can be looked up by its whole value. */
  readonly lookup: boolean
  readonly encrypted: boolean
  /** A masked value differs from a redacted one. */
  readonly masked: boolean
  /** Its own level, without a request for another one. */
  readonly redaction: Level
  /** Only of a column with tokens. */
  readonly tokenKind?: string
  /** The only values that it takes. */
  readonly oneOf?: readonly (string | number)[]
  /** Finds its tokens in text; a source for `RegExp`. */
  readonly tokenPattern?: string
  /** What a read of it requires, such as a purpose. */
  readonly requires?: unknown
  readonly read: {
    readonly decision: Decision
    readonly level?: Level
    readonly highestLevel?: Level
    /** The column requires a purpose: without one it is redacted at most. */
    readonly lacks?: 'purpose'
    readonly statements: readonly Statement[]
    readonly hiddenColumns?: number
  }
  readonly search: Decision
  readonly update: Decision
  readonly create: Decision
  readonly detokenize: Decision
}

/** One table as the caller has it. */
export interface TableDescription {
  readonly name: string
  readonly canInsert: boolean
  readonly canDelete: boolean
  readonly columns: readonly ColumnDescription[]
}

/** One record as the caller has it. */
export interface UntypedRecord {
  readonly id: string
  readonly fields: Readonly<Record<string, unknown>>
  /** Columns that are not in plain text. */
  readonly levels: Readonly<Record<string, 'MASKED' | 'REDACTED'>>
}
