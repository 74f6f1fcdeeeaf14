/** The triggers of SQLite: capture notes the keys of changed rows, guard refuses new plaintext after the switch. */
import { type AdoptedTable, guardSentence } from './adopted-table.ts'
import { keyNames, note, noteMoved, noteNames, quote, quoteText } from './sql-text.ts'

/** What adopting stores beside the table. */
export function sideTables(table: AdoptedTable): string {
  const declared = table.key.map(({ quoted, declared }) => `${quoted} ${declared} not null`).join(', ')
  const primary = `primary key (${keyNames(table)})`
  return `create table if not exists ${table.jobs} (name text primary key, state text not null, pos text, done integer not null default 0,
      total integer not null default 0, passes integer not null default 0, found integer not null default 0,
      own integer not null default 0, plaintext text, columns text not null, quiet_since integer not null default (unixepoch()));
    create table if not exists ${table.notes} (seq integer primary key autoincrement, op text not null, ${noteNames(table, 'k')}, ${noteNames(table, 'w')}, at integer not null default (unixepoch()));
    create table if not exists ${table.map} (${declared}, record_id text not null unique, ${primary}) without rowid;
    create table if not exists ${table.refused} (${declared}, column_name text, code text not null, ${primary}) without rowid;`
}

export function captureTriggers(table: AdoptedTable): string {
  const changed = table.columns.map(({ quoted }) => `old.${quoted} collate binary is not new.${quoted}`).join(' or ')
  return `${dropTriggers(table)}
    ${trigger(table, 'insert', `after insert on ${table.quoted} when ${isForeign(table)}`, note(table, 'i', 'new'))}
    ${trigger(table, 'delete', `after delete on ${table.quoted} when ${isForeign(table)}`, note(table, 'd', 'old'))}
    ${trigger(
      table,
      'update',
      `after update on ${table.quoted} when (${changed} or ${keyChanged(table)}) and ${isForeign(table)}`,
      `${noteMoved(table, keyChanged(table))} ${note(table, 'u', 'new')}`,
    )}`
}

/** After the switch only what becomes of rows is noted: their values are the vault's. */
export function guardTriggers(table: AdoptedTable): string {
  const refusal = `select raise(abort, ${quoteText(guardSentence(table))});`
  const given = table.columns.map(({ quoted }) => `new.${quoted} is not null`).join(' or ')
  const changed = table.columns.map(
    ({ quoted }) => `(new.${quoted} is not null and old.${quoted} collate binary is not new.${quoted})`,
  )
  return `${dropTriggers(table)}
    ${trigger(table, 'delete', `after delete on ${table.quoted} when ${isForeign(table)}`, note(table, 'd', 'old'))}
    ${trigger(table, 'update', `after update on ${table.quoted} when (${keyChanged(table)}) and ${isForeign(table)}`, noteMoved(table, keyChanged(table)))}
    ${trigger(table, 'guard_insert', `before insert on ${table.quoted} when (${given}) and ${isForeign(table)}`, refusal)}
    ${trigger(table, 'guard_update', `before update on ${table.quoted} when (${changed.join(' or ')}) and ${isForeign(table)}`, refusal)}`
}

const TRIGGERS = ['insert', 'delete', 'update', 'guard_insert', 'guard_update']

export function dropTriggers(table: AdoptedTable): string {
  return TRIGGERS.map((name) => `drop trigger if exists ${triggerName(table, name)};`).join(' ')
}

function triggerName(table: AdoptedTable, name: string): string {
  return quote(`${table.prefix}_${name}`)
}

function trigger(table: AdoptedTable, name: string, on: string, body: string): string {
  return `create trigger ${triggerName(table, name)} ${on} begin ${body} end;`
}

/** The condition of triggers: the change is not one of adopting itself. */
function isForeign(table: AdoptedTable): string {
  return `(select own from ${table.jobs} where name = ${quoteText(table.name)}) = 0`
}

function keyChanged(table: AdoptedTable): string {
  return table.key.map(({ quoted }) => `old.${quoted} is not new.${quoted}`).join(' or ')
}
