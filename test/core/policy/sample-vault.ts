/** A small layout and callers for the policy tests. */

import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import { type Access, accessOf } from '../../../src/core/policy/create-access.ts'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import type { TableAccess } from '../../../src/core/policy/table-access.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import { mask } from '../../../src/core/redaction.ts'
import { column } from '../../../src/core/schema/column.ts'
import type { Column } from '../../../src/core/schema/column-layout.ts'
import { layoutSchema, type Table } from '../../../src/core/schema/layout.ts'

/** Tables of the test policies. The table `ctx` has a name with another meaning in conditions. */
export const LAYOUT = layoutSchema(
  assignIds(
    {
      persons: {
        name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
        ssn: column.string({ searchable: true }),
        email: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
        country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
        age: column.integer({ redaction: 'PLAIN_TEXT' }),
        notes: column.json(),
        otp: column.string({ token: 'transient' }),
      },
      orders: { total: column.float(), memo: column.string() },
      ctx: { region: column.string() },
    },
    EMPTY_CATALOG_SCHEMA,
  ),
)

/** A table of the layout; it must exist. */
export function table(name = 'persons'): Table {
  const found = LAYOUT.tables.get(name)
  if (found === undefined) throw new Error(`no table ${name}`)
  return found
}

/** A column of the layout as `table.column`, or a column of persons by its name; it must exist. */
export function columnAt(name: string): Column {
  const [last, first] = name.split('.').reverse()
  const found = table(first ?? 'persons').byName.get(last ?? '')
  if (found === undefined) throw new Error(`no column ${name}`)
  return found
}

/** The access of a caller with these roles under a policy. */
export function accessUnder(
  definition: PolicyDefinition,
  roles: readonly string[],
  context?: Record<string, string | number | boolean>,
): Access {
  return accessOf(compilePolicy(definition, LAYOUT), { roles, ...(context === undefined ? {} : { context }) })
}

/** The access to persons of a caller with one role that has these statements. */
export function accessBy(...statements: PolicyDefinition[string]): TableAccess {
  return accessUnder({ clerk: statements }, ['clerk']).table(table())
}
