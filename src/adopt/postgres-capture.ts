/** The triggers of PostgreSQL: one function notes the keys of changed rows, and is replaced by the guard at the switch, which needs no lock of the table. */
import { type AdoptedTable, guardSentence, type MappedColumn } from './adopted-table.ts'
import { keyNames, note, noteMoved, quote, quoteText } from './sql-text.ts'

/** What adopting stores beside the table. */
export function sideTables(table: AdoptedTable): string {
  const own = (letter: string) => table.key.map(({ declared }, position) => `${letter}${position} ${declared}`).join(', ')
  const declared = table.key.map(({ quoted, declared }) => `${quoted} ${declared} not null`).join(', ')
  const primary = `primary key (${keyNames(table)})`
  return `create table if not exists ${table.jobs} (name text primary key, state text not null, pos text, done bigint not null default 0,
      total bigint not null default 0, passes integer not null default 0, found bigint not null default 0,
      own integer not null default 0, plaintext text, columns text not null, quiet_since bigint not null default extract(epoch from clock_timestamp()));
    create table if not exists ${table.notes} (seq bigint generated always as identity primary key, op "char" not null, ${own('k')}, ${own('w')},
      at timestamptz not null default clock_timestamp());
    create table if not exists ${table.map} (${declared}, record_id text not null unique, ${primary});
    create table if not exists ${table.refused} (${declared}, column_name text, code text not null, ${primary});`
}

/**
 * The trigger of updates compares the rows as they were and are: `update of` would miss a column that a trigger of the host changes. All are
 * enabled always: they see rows that replication applies. The function has the rights of its owner, because the application has none on the notes.
 */
export function captureTriggers(table: AdoptedTable): string {
  const changed = table.columns.map((column) => distinct(column, 'old', 'new')).join(' or ')
  const on = (name: string, when: string): string => {
    const quoted = quote(`${table.prefix}_${name}`)
    return `create trigger ${quoted} ${when} execute function ${table.noting}(); alter table ${table.quoted} enable always trigger ${quoted};`
  }
  return `${dropTriggers(table)}
    ${functionOf(table, '')}
    ${on('update', `after update on ${table.quoted} for each row when (${changed} or ${keyChanged(table)})`)}
    ${on('row', `after insert or delete on ${table.quoted} for each row`)}
    ${on('truncate', `after truncate on ${table.quoted} for each statement`)}`
}

/** After the switch only what becomes of rows is noted: their values are the vault's. */
export function guardFunction(table: AdoptedTable): string {
  const raise = `raise exception using message = ${quoteText(guardSentence(table))}, errcode = 'ZS001';`
  const given = table.columns.map(({ quoted }) => `new.${quoted} is not null`).join(' or ')
  const changed = table.columns.map((column) => `(new.${column.quoted} is not null and ${distinct(column, 'old', 'new')})`)
  return functionOf(
    table,
    `if tg_op = 'INSERT' then
      if ${given} then ${raise} end if;
      return null;
    elsif tg_op = 'UPDATE' then
      if ${changed.join(' or ')} then ${raise} end if;
      if ${keyChanged(table)} then ${noteMoved(table)} end if;
      return null;
    end if;`,
  )
}

export function dropTriggers(table: AdoptedTable): string {
  const triggers = ['update', 'row', 'truncate'].map(
    (name) => `drop trigger if exists ${quote(`${table.prefix}_${name}`)} on ${table.quoted};`,
  )
  return `${triggers.join(' ')} drop function if exists ${table.noting}();`
}

function functionOf(table: AdoptedTable, guard: string): string {
  return `create or replace function ${table.noting}() returns trigger language plpgsql security definer set search_path = '' as $strongroom$ begin
    if pg_catalog.current_setting('strongroom.own', true) = 'on' then return null; end if;
    if tg_op = 'DELETE' then ${note(table, 'd', 'old')} return null;
    elsif tg_op = 'TRUNCATE' then insert into ${table.notes} (op) values ('t'); return null; end if;
    ${guard}
    if tg_op = 'INSERT' then ${note(table, 'i', 'new')}
    else
      if ${keyChanged(table)} then ${noteMoved(table)} end if;
      ${note(table, 'u', 'new')}
    end if;
    return null; end $strongroom$;`
}

function keyChanged(table: AdoptedTable): string {
  return table.key.map(({ quoted }) => `old.${quoted} is distinct from new.${quoted}`).join(' or ')
}

/** Values of loose types can be equal and have different texts, which the vault would keep apart. */
function distinct({ quoted, isLoose }: MappedColumn, left: string, right: string): string {
  const text = isLoose ? '::text collate pg_catalog."C"' : ''
  return `${left}.${quoted}${text} is distinct from ${right}.${quoted}${text}`
}
