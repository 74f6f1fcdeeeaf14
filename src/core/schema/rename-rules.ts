/** The rules of a schema under other names of its tables and columns. */
import type { SchemaRules } from './schema-rules.ts'
import type { SubjectDefinition } from './subjects.ts'

/** Returns the other name of a table, or of a column of one. A name that has none is the same. */
export type Renaming = (table: string, column?: string) => string

export function renameRules({ uniqueTogether, subjects, retention }: SchemaRules, renaming: Renaming): SchemaRules {
  const path = (text: string): string => {
    const [table = '', column] = text.split('.')
    return column === undefined ? renaming(table) : `${renaming(table)}.${renaming(table, column)}`
  }
  const relationOf = (relation: NonNullable<SubjectDefinition['relations']>[number]) => {
    const of = { table: renaming(relation.table), column: renaming(relation.table, relation.column) }
    return 'references' in relation
      ? { ...of, references: renaming(relation.references) }
      : { ...of, equals: path(relation.equals) }
  }
  return {
    ...(uniqueTogether !== undefined && {
      uniqueTogether: mapped(uniqueTogether, (table, lists) => [
        renaming(table),
        lists.map((columns) => columns.map((column) => renaming(table, column))),
      ]),
    }),
    ...(subjects !== undefined && {
      subjects: mapped(subjects, (name, { relations, ...subject }) => [
        name,
        {
          ...subject,
          table: renaming(subject.table),
          ...(relations !== undefined && { relations: relations.map(relationOf) }),
        },
      ]),
    }),
    ...(retention !== undefined && {
      retention: mapped(retention, (rule, { from, ...rest }) => [
        path(rule),
        { ...rest, ...(from !== undefined && { from: renaming(rule.split('.')[0] ?? '', from) }) },
      ]),
    }),
  }
}

function mapped<T>(record: Readonly<Record<string, T>>, entry: (name: string, of: T) => [string, T]): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([name, of]) => entry(name, of)))
}
