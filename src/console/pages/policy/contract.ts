/** What the vault answers to the operations of this page. */
import type { Decision, Level, TableDescription, UntypedRecord } from '../../app/contract.ts'

/** The result of `readPolicy`. */
export interface PolicyText {
  readonly roles: readonly { readonly name: string; readonly statements: readonly string[] }[]
  readonly builtIn: readonly string[]
  /** The names that conditions read as `ctx.name`. */
  readonly contextNames: readonly string[]
}

/** Roles of a draft, each with its statements. */
export type Draft = Readonly<Record<string, readonly string[]>>

/** A record as one caller sees it. */
export type SeenRecord = Pick<UntypedRecord, 'fields' | 'levels'>

/** A record as each caller sees it. */
export interface PreviewedRecord {
  readonly id: string
  readonly yours: SeenRecord
  readonly theirs: SeenRecord
  readonly draft?: SeenRecord
}

/** The result of `previewAccess`. */
export interface Preview {
  readonly tables: readonly TableDescription[]
  readonly draftTables?: readonly TableDescription[]
  readonly records: readonly PreviewedRecord[]
  readonly next?: string
}

/** An error of a draft. Without a role it is of the whole policy, without a position of the whole role. */
export interface DraftError {
  readonly role?: string
  readonly position?: number
  readonly line?: number
  readonly column?: number
  readonly message: string
}

/** What a role can do with a column. */
export interface RoleAccess {
  readonly decision: Decision
  readonly highestLevel?: Level
  readonly when?: readonly string[]
  readonly unless?: readonly string[]
}

/** What a draft changes for a role. */
export interface AccessChange {
  readonly role: string
  readonly table: string
  readonly column: string
  readonly action: string
  readonly before: RoleAccess
  readonly after: RoleAccess
  readonly records?: number
}

/** The result of `checkPolicy`. */
export interface CheckedDraft {
  readonly errors: readonly DraftError[]
  readonly changes: readonly AccessChange[]
}
