/** The table that is adopted: its key, its columns and those of the vault, and the names of what is stored beside it. */
import { VaultError } from '../core/errors.ts'
import { isList } from '../core/util/lists.ts'
import type { SchemaDescription } from '../index.ts'
import { quote } from './sql-text.ts'
import type { Finding, HostColumn, TableShape } from './table-shape.ts'

/** A column of the key. */
interface KeyColumn {
  readonly quoted: string
  readonly type: string
  readonly declared: string
}

/** A column of the host's table, and the column of the vault that receives its values. */
export interface MappedColumn extends HostColumn {
  readonly quoted: string
  /** The column of the vault. */
  readonly vault: string
  readonly vaultType: string
  /** True if the vault lets no two records have equal values in it. */
  readonly isUnique: boolean
  /** The lists of columns of the vault, with this one, that are unique together. */
  readonly together: readonly (readonly string[])[]
  /** True if the vault finds records by its values. */
  readonly isLookedUp: boolean
  /** True if the vault demands a value in it. */
  readonly isVaultRequired: boolean
  readonly hasTokens: boolean
}

export interface AdoptedTable {
  /** Names its row in the table of jobs. */
  readonly name: string
  readonly quoted: string
  readonly vaultTable: string
  readonly key: readonly KeyColumn[]
  readonly columns: readonly MappedColumn[]
  /** Quoted and qualified: the tables beside the host's. */
  readonly jobs: string
  readonly notes: string
  readonly map: string
  readonly refused: string
  /** The function of the triggers. */
  readonly noting: string
  /** Begins the names of triggers. Not quoted. */
  readonly prefix: string
  readonly findings: readonly Finding[]
  readonly dependants: TableShape['dependants']
}

/** How the columns of the host are named, and the vault's. */
interface ColumnChoice {
  readonly vaultTable: string
  /** Columns of the vault by those of the host, or names that both have. Default: the names that both have. */
  readonly columns: Readonly<Record<string, string>> | readonly string[] | undefined
}

/** PostgreSQL cuts names at 63 bytes. This leaves 12 for an ending, and the longest there, `_truncate`, has 9. SQLite cuts none. */
const MAX_PREFIX = 51

/** Throws `invalid_request` for names that the table or the vault does not have, and `unsupported` for a table that cannot be walked by a key. */
export function adoptedTable(shape: TableShape, choice: ColumnChoice, schema: SchemaDescription): AdoptedTable {
  const plain = shape.name.slice(shape.name.lastIndexOf('.') + 1)
  const prefix = `strongroom_${plain}`
  if (prefix.length > MAX_PREFIX || !/^\w+$/.test(plain))
    throw new VaultError('unsupported', `Table ${shape.name} needs a name of at most 40 letters, digits and _ to be adopted.`)
  if (shape.key.length === 0) throw new VaultError('unsupported', `Table ${shape.name} has no primary key. Give it one first.`)
  const columns = mappedColumns(shape, choice, schema)
  const key = shape.key.map((name) => keyColumn(shape, name))
  if (shape.key.includes('record_id'))
    throw new VaultError('unsupported', 'A column of the key is named record_id. Rename it first.')
  const both = columns.find(({ name }) => shape.key.includes(name))
  if (both !== undefined)
    throw new VaultError('unsupported', `Column ${both.name} is a part of the key, which stays in the table.`)
  return {
    name: shape.name,
    quoted: shape.quoted,
    vaultTable: choice.vaultTable,
    key,
    columns,
    jobs: shape.beside('strongroom_adopt'),
    notes: shape.beside(`${prefix}_notes`),
    map: shape.beside(`${prefix}_map`),
    refused: shape.beside(`${prefix}_refused`),
    noting: shape.beside(`${prefix}_noting`),
    prefix,
    findings: shape.findings,
    dependants: shape.dependants,
  }
}

function keyColumn({ columns }: TableShape, name: string): KeyColumn {
  const column = columns.get(name)
  if (column === undefined) throw new VaultError('internal', `The key column ${name} is not a column of its table.`)
  return { quoted: quote(name), type: column.type, declared: column.declared }
}

function mappedColumns(shape: TableShape, { vaultTable, columns }: ColumnChoice, schema: SchemaDescription): MappedColumn[] {
  const described = schema[vaultTable]
  if (described === undefined) throw new VaultError('invalid_request', `The vault has no table ${vaultTable}.`)
  const chosen = pairsOf(columns ?? Object.keys(described).filter((name) => shape.columns.has(name)))
  if (chosen.length === 0)
    throw new VaultError('invalid_request', `No column of ${shape.name} is chosen: name the columns to adopt.`)
  const taken = new Set<string>()
  return chosen.map(([name, vault]) => {
    const column = shape.columns.get(name)
    const target = described[vault]
    if (column === undefined) throw new VaultError('invalid_request', `Table ${shape.name} has no column ${name}.`)
    if (target === undefined) throw new VaultError('invalid_request', `Table ${vaultTable} of the vault has no column ${vault}.`)
    if (taken.has(vault)) throw new VaultError('invalid_request', `Two columns are adopted into column ${vault} of the vault.`)
    taken.add(vault)
    return {
      ...column,
      quoted: quote(name),
      vault,
      vaultType: target.type,
      isUnique: target.unique,
      together: target.uniqueTogether ?? [],
      isLookedUp: target.lookup,
      isVaultRequired: target.required,
      hasTokens: target.tokenKind !== undefined,
    }
  })
}

function pairsOf(columns: NonNullable<ColumnChoice['columns']>): (readonly [string, string])[] {
  return isList(columns) ? columns.map((name) => [name, name] as const) : Object.entries(columns)
}

/** Returns the columns that the vault lets no two records have equal values in: each unique one by itself, and those that are unique together. */
export function uniqueKeys({ columns }: Pick<AdoptedTable, 'columns'>): (readonly MappedColumn[])[] {
  const keys = new Map<string, readonly MappedColumn[]>()
  for (const column of columns) {
    if (column.isUnique) keys.set(column.vault, [column])
    for (const names of column.together) {
      const members = columns.filter(({ vault }) => names.includes(vault))
      if (members.length === names.length) keys.set(names.join(), members)
    }
  }
  return [...keys.values()]
}

/** The names of the adopted columns of the host, for sentences. */
export function columnNames({ columns }: Pick<AdoptedTable, 'columns'>): string {
  return columns.map(({ name }) => name).join(', ')
}

/** What an application is answered that writes plaintext after the switch. */
export function guardSentence(table: AdoptedTable): string {
  return `strongroom: ${columnNames(table)} of ${table.name} are in the vault now; deploy the version that writes to the vault`
}
