/** Combines rules into the grants of a row: DENY wins, the highest level applies, and what no rule allows is denied. */
import { lowerLevel, type Redaction, type RedactionLevel } from '../redaction/levels.ts'
import type { Column, ColumnView, Table } from '../schema/layout.ts'
import { type ActionSet, actionSet, bitOf } from './actions.ts'
import { appliesTo, levelBy, type Rule } from './rule.ts'
import type { RequiredGrant, RowAccess } from './table-access.ts'

const READ = actionSet(['READ'])
const SEARCH = actionSet(['SEARCH'])
const WRITE = actionSet(['CREATE', 'UPDATE'])

/** The grants on one column. */
interface Grant {
  readonly actions: ActionSet
  readonly level: RedactionLevel | undefined
}

/** The access to a row in which exactly these rules apply. */
export function createRowAccess(table: Table, rules: readonly Rule[]): RowAccess {
  const grants = table.columns.map((column) => grantOn(column, rules))
  const levelOf = (column: Column) => grants[column.position]?.level
  return {
    level: levelOf,
    ...createViews(table, levelOf),
    allows: (action, column) => allows(grants[column.position], bitOf(action)),
    meets: ({ action, columns }: RequiredGrant) => {
      const wanted = bitOf(action)
      if (columns.length === 0) return grants.some((grant) => allows(grant, wanted))
      return columns.every((column) => allows(grants[column.position], wanted))
    },
  }
}

function allows(grant: Grant | undefined, wanted: ActionSet): boolean {
  return grant !== undefined && (grant.actions & wanted) !== 0
}

/** Combines the rules for one column. */
function grantOn(column: Column, rules: readonly Rule[]): Grant {
  let allowed: ActionSet = 0
  let denied: ActionSet = 0
  let level: RedactionLevel | undefined
  for (const rule of rules) {
    if (rule.covers[column.position] !== true) continue
    if (rule.effect === 'DENY') {
      denied |= rule.actions
      continue
    }
    allowed |= rule.actions
    if (appliesTo(rule, READ, column)) level = higherLevel(level, levelBy(rule, column))
  }
  const shown = (denied & READ) === 0 ? level : undefined
  return { actions: (allowed & ~denied) | impliedSearch(column, { allowed, denied, shown }), level: shown }
}

/**
 * SEARCH implied by other grants. READ in plain text implies it, because searching reveals no more; DENY SEARCH still removes it. Writing a
 * unique column implies it, because conflicts reveal values in any case; nothing removes that.
 */
function impliedSearch(
  column: Column,
  {
    allowed,
    denied,
    shown,
  }: { readonly allowed: ActionSet; readonly denied: ActionSet; readonly shown: RedactionLevel | undefined },
): ActionSet {
  const byReading = shown === 'PLAIN_TEXT' && (denied & SEARCH) === 0
  const byWriting = column.unique && (allowed & ~denied & WRITE) !== 0
  return byReading || byWriting ? SEARCH : 0
}

function higherLevel(left: RedactionLevel | undefined, right: RedactionLevel): RedactionLevel {
  return left === undefined || lowerLevel(left, right) === left ? right : left
}

/** Column views at each requested level. A scan requests the same columns repeatedly, so the last result is cached. */
function createViews(table: Table, levelOf: (column: Column) => RedactionLevel | undefined): Pick<RowAccess, 'view' | 'views'> {
  const singles = new Map<Redaction, readonly (ColumnView | undefined)[]>()
  const last = new Map<Redaction, { readonly columns: readonly Column[]; readonly views: readonly ColumnView[] }>()
  const view: RowAccess['view'] = (column, asked) => {
    let ofTable = singles.get(asked)
    if (ofTable === undefined) {
      ofTable = table.columns.map((column) => viewOf(column, asked, levelOf(column)))
      singles.set(asked, ofTable)
    }
    return ofTable[column.position]
  }
  return {
    view,
    views(columns, asked) {
      const known = last.get(asked)
      if (known?.columns === columns) return known.views
      const views = columns.flatMap((column) => view(column, asked) ?? [])
      last.set(asked, { columns, views })
      return views
    },
  }
}

function viewOf(column: Column, asked: Redaction, allowed: RedactionLevel | undefined): ColumnView | undefined {
  if (allowed === undefined) return undefined
  return { column, level: lowerLevel(asked === 'DEFAULT' ? column.level : asked, allowed) }
}
