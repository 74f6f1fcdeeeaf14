/** The side bar: the vault, its tables, its pages, and who is signed in. On a narrow screen it is a bar of pages at the bottom. */
import { Icon } from '../ui/icon.tsx'
import { Mark } from '../ui/mark.tsx'
import { Link } from './link.tsx'
import { shownPages } from './pages.ts'
import { counts, type Session, signOut } from './session.ts'
import { useStore } from './store.ts'

/** Draws it. */
export function SideBar({ caller, tables, onGoTo }: Session & { onGoTo(): void }) {
  const known = useStore(counts)
  return (
    <aside class="side" aria-label="Console">
      <div class="brand">
        <Mark />
        <b>{caller.vaultID}</b>
        <span>strongroom</span>
        <button type="button" class="button quiet only-icon" aria-label="Go to a table or page" onClick={onGoTo}>
          <Icon of="search" />
        </button>
      </div>
      {tables.length === 0 ? null : (
        <nav class="nav of-tables" aria-labelledby="nav-tables">
          <h2 id="nav-tables">Tables</h2>
          {tables.map(({ name }) => (
            <Link to={['tables', name]} key={name}>
              <Icon of="table" />
              <span>{name}</span>
              <span class="count number">{known[name]?.toLocaleString('en')}</span>
            </Link>
          ))}
        </nav>
      )}
      <nav class="nav" aria-labelledby="nav-vault">
        <h2 id="nav-vault">Vault</h2>
        {shownPages(caller).map(({ id, name, icon }) => (
          <Link to={[id]} class={id === 'tables' ? 'of-tables-page' : ''} key={id}>
            <Icon of={icon} />
            <span>{name}</span>
          </Link>
        ))}
      </nav>
      <CallerCard caller={caller} />
    </aside>
  )
}

/** Who is signed in, with their roles and context. */
export function CallerCard({ caller }: Pick<Session, 'caller'>) {
  return (
    <div class="caller">
      <div class="caller-name">
        <b dir="auto" title={caller.actor}>
          {caller.name ?? caller.actor}
        </b>
        <button type="button" class="button quiet only-icon" aria-label="Sign out" title="Sign out" onClick={() => signOut()}>
          <Icon of="leave" />
        </button>
      </div>
      <div class="chips">
        {caller.roles.map((role) => (
          <span class="chip accent" key={role}>
            {role}
          </span>
        ))}
        {Object.entries(caller.context).map(([name, value]) => (
          <span class="chip mono" key={name}>
            {name} = {String(value)}
          </span>
        ))}
      </div>
    </div>
  )
}
