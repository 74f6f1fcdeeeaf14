/** Creates the layout of a column from its definition: its rules, its place in bodies, and its physical columns. */
import { fault } from '../errors.ts'
import { DEFAULT_MAX_FILE_BYTES, DEFAULT_TTL_MINUTES } from '../limits.ts'
import { DIGEST_BYTES } from '../ports/crypto.ts'
import type { Cell } from '../ports/storage.ts'
import { compileMask, mayBeMaskedBy, type RedactionLevel } from '../redaction.ts'
import { type ColumnHash, hashColumn, TRANSIENT_REF_BYTES } from '../sealing/cell-layout.ts'
import type { TokenFormat } from '../tokens/token-format.ts'
import { compileFormat } from '../tokens/token-formats.ts'
import type { TokenKind } from '../tokens/token-kind.ts'
import { tokenKinds } from '../tokens/token-kinds.ts'
import type { AnyColumnType } from '../values/column-types.ts'
import type { Normalizer } from '../values/normalizers.ts'
import { compileRules, type ValueRule } from '../values/value-rules.ts'
import { type CatalogColumn, isRequired } from './catalog-schema.ts'
import { type FileOptions, hasDigest, type IndexKind, normalizersOf, sealedKinds, tokenOf, typeOf } from './column.ts'

/** A sealed index of a column. */
export interface ColumnIndex {
  readonly kind: IndexKind
  /** Its object id: another one if it is dropped and added again. */
  readonly objectId: number
  /** Physical column of the table: IS_INDEXED in a row whose value the index has, null in one that was stored before the index was added. */
  readonly cell: string
}

/** What says in a row that an index has its value. */
export const IS_INDEXED = 1

/** One compiled column. */
export interface Column {
  readonly name: string
  /** Index in `Table.columns`, and so in every list of the values of a record. */
  readonly position: number
  /** Number of the column in sealed bodies, from 0. */
  readonly ordinal: number
  /** Number of the column in pointers. */
  readonly objectId: number
  /** What marks in bodies have of the column: its type, and its identity in the vault. */
  readonly hash: ColumnHash
  readonly type: AnyColumnType
  readonly required: boolean
  readonly unique: boolean
  /** The level for `DEFAULT`. */
  readonly level: RedactionLevel
  /** True if a caller without a purpose sees it redacted, and cannot compare its values. */
  readonly needsPurpose: boolean
  /** Returns the masked form of the text of a value. */
  readonly mask: ((text: string) => string) | undefined
  /** Returns whether a text may be the masked form of some value; undefined without a mask. */
  readonly mayBeMasked: ((text: string) => boolean) | undefined
  readonly token: TokenKind | undefined
  /** The token format, if the token kind has one. */
  readonly format: TokenFormat | undefined
  /** True if a value that the format refuses is stored without a token. */
  readonly mayLackToken: boolean
  /** Lifetime of a value in milliseconds. Used if the token kind expires. */
  readonly lifetime: number
  /** True if a changed value keeps its token. */
  readonly isStable: boolean
  /** Index in `Table.tokenized`; -1 if the column has no tokens. */
  readonly tokenPosition: number
  readonly normalize: readonly Normalizer[]
  readonly validate: ValueRule | undefined
  /** The column group; undefined if the column has none. */
  readonly group: string | undefined
  /** The digest scope, which selects the digest key. Columns with equal scopes have comparable digests. */
  readonly scope: string
  /** Physical column of the plain value; undefined if the value is sealed. */
  readonly plain: string | undefined
  /** Physical column of the digest by which values are found and compared; undefined if there is none. */
  readonly digest: string | undefined
  /** Physical column of the digest that writers store: also while a change of the schema fills it, and nothing is looked up by it. */
  readonly writtenDigest: string | undefined
  /** Bytes of a stored digest. */
  readonly digestLength: number
  /** The column of the schema whose values it has, if it is hidden: a change of the schema puts one in the place of the other. */
  readonly origin: Column | undefined
  /** The rules of its files; undefined if the column holds none. */
  readonly file: FileRules | undefined
  /** Physical column with an index for equality; undefined if there is none. */
  readonly lookup: string | undefined
  /** The sealed index by which values are found in order; undefined if there is none. */
  readonly index: ColumnIndex | undefined
  /** The sealed index by which texts are found that contain one; undefined if there is none. */
  readonly contains: ColumnIndex | undefined
  /** The sealed indexes that writers keep: also while a change of the schema fills one, and nothing is looked up by it. */
  readonly writtenIndexes: readonly ColumnIndex[]
}

/** What the files of a column must be. */
export interface FileRules {
  /** MIME types, or patterns such as `image/*`; undefined for any type. */
  readonly allowedTypes: readonly string[] | undefined
  /** Maximum length in bytes. */
  readonly maxBytes: number
}

/** One column with the level at which one caller reads it. Decided before anything is read. */
export interface ColumnView {
  readonly column: Column
  readonly level: RedactionLevel
}

/** How the names of physical columns begin that say which rows a sealed index has. */
const INDEXED = 'indexed_'

/** Returns the physical column that says which rows an index has. */
export function indexCell(index: number): string {
  return `${INDEXED}${index}`
}

/** Returns the index whose rows a physical column says; undefined for another one. */
export function indexOfCell(cell: string): number | undefined {
  return cell.startsWith(INDEXED) ? Number(cell.slice(INDEXED.length)) : undefined
}

/** Returns the sealed indexes of a column that writers keep. */
function indexesOf({ indexes = {} }: Pick<CatalogColumn, 'indexes'>): readonly ColumnIndex[] {
  return (['order', 'contains'] as const).flatMap((kind) => {
    const objectId = indexes[kind]
    return objectId === undefined ? [] : { kind, objectId, cell: indexCell(objectId) }
  })
}

/** Number of characters of a name in a physical name: PostgreSQL cuts names at 63 bytes. */
export const NAME_PART_LENGTH = 48

/** Stored length in bytes of a digest that is not also a token: long enough to avoid collisions, with a smaller index. See docs/decisions/0003. */
const SHORT_DIGEST_BYTES = 12

/** Compiles a column of a table, by the names that it is known and was born by. */
export function layoutColumn(
  table: string,
  name: string,
  one: CatalogColumn & Pick<Column, 'position' | 'tokenPosition' | 'origin'> & { readonly filling: readonly string[] },
): Column {
  const { objectId, ordinal, definition, position, tokenPosition, origin } = one
  const born = one.formerly?.[0] ?? name
  const type = typeOf(definition)
  const sealed = definition.encrypted !== false
  const unique = definition.unique === true
  const part = `${objectId}_${born.slice(0, NAME_PART_LENGTH)}`
  const plain = sealed ? undefined : `plain_${part}`
  const { kind, format, ttlMinutes, stable, whenRefused } = tokenOf(definition)
  const token = kind === undefined ? undefined : tokenKinds[kind]
  const isDigested = hasDigest(definition)
  const digestName = `digest_${part}`
  const digest = isDigested ? digestName : undefined
  const writtenDigest = isDigested || one.filling.includes(digestName) ? digestName : undefined
  const writtenIndexes = indexesOf(one)
  const usedKinds = sealedKinds(definition)
  const used = writtenIndexes.filter(({ kind, cell }) => usedKinds.includes(kind) && !one.filling.includes(cell))
  return {
    name,
    position,
    tokenPosition,
    ordinal,
    objectId,
    origin,
    hash: hashOf(one, table, born),
    type,
    required: isRequired(one),
    unique,
    level: definition.redaction ?? 'REDACTED',
    needsPurpose: definition.requires?.includes('purpose') === true,
    mask: definition.mask === undefined ? undefined : compileMask(definition.mask),
    mayBeMasked: definition.mask === undefined ? undefined : mayBeMaskedBy(definition.mask),
    token,
    format: format === undefined ? undefined : compileFormat(format),
    mayLackToken: whenRefused === 'noToken',
    lifetime: (ttlMinutes ?? DEFAULT_TTL_MINUTES) * 60_000,
    isStable: stable === true,
    normalize: normalizersOf(definition),
    validate: compileRules({ ...definition, hasDigest: writtenDigest !== undefined }, type),
    group: definition.columnGroup,
    scope: definition.columnGroup === undefined ? `column/${objectId}` : `group/${definition.columnGroup}`,
    plain,
    digest,
    writtenDigest,
    digestLength: digestLength(token),
    file: definition.type === 'FILE' ? fileRulesOf(definition) : undefined,
    lookup: sealed ? digest : unique || definition.index === true ? plain : digest,
    index: used.find(({ kind }) => kind === 'order'),
    contains: used.find(({ kind }) => kind === 'contains'),
    writtenIndexes,
  }
}

/** Returns what marks in bodies have of a column. The names are those that table and column were born with. */
export function hashOf(
  { objectId, definition }: Pick<CatalogColumn, 'objectId' | 'definition'>,
  ...born: [string, string]
): ColumnHash {
  return hashColumn(typeOf(definition).tag, JSON.stringify([objectId, ...born]))
}

function digestLength(token: TokenKind | undefined): number {
  return token?.isDeterministic === true ? DIGEST_BYTES : SHORT_DIGEST_BYTES
}

function fileRulesOf({ allowedTypes, maxBytes }: FileOptions): FileRules {
  return { allowedTypes, maxBytes: maxBytes ?? DEFAULT_MAX_FILE_BYTES }
}

/** Length in bytes of the values in bodies; undefined if it varies. A transient column has references there. */
export function cellSize({ token, type }: Column): number | undefined {
  return token?.expires === true ? TRANSIENT_REF_BYTES : type.size
}

/** Returns the value of a plain cell. Throws `data_loss` for a cell that is no value of its column's type. The error does not quote it. */
export function plainValue(column: Column, cell: Exclude<Cell, null>, table?: string): unknown {
  try {
    return column.type.fromCell(cell)
  } catch {
    const detail = { ...(table === undefined ? {} : { table }), column: column.name }
    throw fault(
      'data_loss',
      detail,
    )`Column ${column.name} has a stored cell that is no value of its type: it was changed outside the vault. Restore it.`
  }
}
