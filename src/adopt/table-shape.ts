/** A table of the host as its database describes it, and what of it matters to adopting. */

/** A column of the host's table. */
export interface HostColumn {
  readonly name: string
  /** Its type, as a cast takes it. */
  readonly type: string
  /** The type with what a column of another table needs to compare as this one does. */
  readonly declared: string
  /** True if two values can be equal and have different texts. */
  readonly isLoose: boolean
  readonly isRequired: boolean
  readonly isGenerated: boolean
}

/** What was found out about a table, its rows or its columns. It has no value. */
export interface Finding {
  /** `refused`: adopting does not begin. `attention`: the operator must know it. */
  readonly level: 'refused' | 'attention'
  /** Names the finding for programs. */
  readonly code: string
  /** One sentence or two. */
  readonly message: string
  readonly column?: string
  /** Rows that it is about. */
  readonly rows?: number
  /** The keys of the first of them. */
  readonly keys?: readonly string[]
}

export interface TableShape {
  /** Qualified and quoted. */
  readonly quoted: string
  /** Qualified, as events and errors name it. */
  readonly name: string
  /** Puts the schema of the table before the name of another table, and quotes it. */
  beside(name: string): string
  /** The columns of the primary key, in order. */
  readonly key: readonly string[]
  readonly columns: ReadonlyMap<string, HostColumn>
  readonly findings: readonly Finding[]
  /** Views, generated columns and other objects by the column that they use: it cannot be dropped while they exist. */
  readonly dependants: readonly { readonly column: string; readonly object: string }[]
}
