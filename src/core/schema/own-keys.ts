/** Which records are sealed with the key of a subject. Only references say so: what they name is known before a record is stored. */
import type { SchemaRules } from './schema-rules.ts'

/** How the key of a record is found. */
export interface Owner {
  /** True for the table of a subject: each record has a key, which is made with it. */
  readonly isSubject: boolean
  /** The columns with record ids, and the tables of these records. The first with a value decides: the key is that of the record that it names. */
  readonly references: readonly { readonly column: string; readonly table: string }[]
  /** True if records of other tables are sealed with the key of a record of this one. */
  readonly isReferenced: boolean
}

/** Returns the subjects whose records are sealed with keys of their own, by name. */
export function subjectsWithKeys({
  subjects = {},
}: SchemaRules): ReadonlyMap<string, NonNullable<SchemaRules['subjects']>[string]> {
  return new Map(Object.entries(subjects).filter(([, { ownKeys }]) => ownKeys === true))
}

/** Returns the owner of the records of each table that are sealed with the key of a subject, each table after those that it refers to. */
export function ownersOf(rules: SchemaRules): ReadonlyMap<string, Owner> {
  const owners = new Map<string, Owner>()
  for (const { table, relations = [] } of subjectsWithKeys(rules).values()) {
    owners.set(table, { isSubject: true, references: [], isReferenced: false })
    for (let before = -1; before !== owners.size; ) {
      before = owners.size
      for (const relation of relations) {
        if (!('references' in relation) || owners.has(relation.table) || !owners.has(relation.references)) continue
        const own = relations.flatMap((one) =>
          one.table === relation.table && 'references' in one ? [{ column: one.column, table: one.references }] : [],
        )
        owners.set(relation.table, { isSubject: false, references: own, isReferenced: false })
      }
    }
  }
  for (const { references } of [...owners.values()]) {
    for (const { table } of references) {
      const owner = owners.get(table)
      if (owner !== undefined) owners.set(table, { ...owner, isReferenced: true })
    }
  }
  return owners
}
