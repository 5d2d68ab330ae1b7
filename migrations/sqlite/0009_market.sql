-- The books: double entry in millionths of the currency. Nothing is changed or deleted.
CREATE TABLE accounts (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    -- user:N, held:N, author:N, platform, outside:NAME.
    name  TEXT NOT NULL UNIQUE,
    -- The balance may not go below this; NULL for accounts that may owe.
    floor INTEGER
) STRICT;

CREATE TABLE entries (
    id   INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    kind TEXT NOT NULL,
    -- What it is booked for. The same key again is the same entry.
    key  TEXT NOT NULL UNIQUE,
    -- The entry that this one ends: a capture or a release ends a hold, a refund ends what it
    -- returns. Each ends once.
    ends INTEGER UNIQUE REFERENCES entries (id),
    memo TEXT NOT NULL DEFAULT ''
) STRICT;

-- Postings are written before their entry, which is accepted only if they sum to zero, and closes
-- them. The deferred reference refuses postings without an entry.
CREATE TABLE postings (
    entry   INTEGER NOT NULL REFERENCES entries (id) DEFERRABLE INITIALLY DEFERRED,
    account INTEGER NOT NULL REFERENCES accounts (id),
    amount  INTEGER NOT NULL CHECK (amount <> 0),
    PRIMARY KEY (entry, account)
) STRICT, WITHOUT ROWID;

CREATE INDEX account_postings ON postings (account, entry);
CREATE INDEX entry_times ON entries (at);

-- Sums of postings, kept by the trigger below. `doctor` compares.
CREATE TABLE balances (
    account INTEGER PRIMARY KEY REFERENCES accounts (id),
    amount  INTEGER NOT NULL
) STRICT;

CREATE TRIGGER entry_sums_to_zero BEFORE INSERT ON entries
WHEN (SELECT count(*) < 2 OR sum(amount) <> 0 FROM postings WHERE entry = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the postings of an entry sum to zero'); END;

CREATE TRIGGER posting_of_closed_entry BEFORE INSERT ON postings
WHEN EXISTS (SELECT 1 FROM entries WHERE id = NEW.entry)
BEGIN SELECT RAISE(ABORT, 'an entry takes no further postings'); END;

CREATE TRIGGER posting_counts AFTER INSERT ON postings
BEGIN
    INSERT INTO balances (account, amount) VALUES (NEW.account, 0) ON CONFLICT DO NOTHING;
    UPDATE balances SET amount = amount + NEW.amount WHERE account = NEW.account;
END;

CREATE TRIGGER balance_above_floor BEFORE UPDATE ON balances
WHEN NEW.amount < (SELECT floor FROM accounts WHERE id = NEW.account)
BEGIN SELECT RAISE(ABORT, 'the balance would go below its floor'); END;

CREATE TRIGGER accounts_are_kept BEFORE DELETE ON accounts
BEGIN SELECT RAISE(ABORT, 'the books are append only'); END;
CREATE TRIGGER accounts_are_fixed BEFORE UPDATE ON accounts
BEGIN SELECT RAISE(ABORT, 'the books are append only'); END;
CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'the books are append only'); END;
CREATE TRIGGER entries_are_fixed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'the books are append only'); END;
CREATE TRIGGER postings_are_kept BEFORE DELETE ON postings
BEGIN SELECT RAISE(ABORT, 'the books are append only'); END;
CREATE TRIGGER postings_are_fixed BEFORE UPDATE ON postings
BEGIN SELECT RAISE(ABORT, 'the books are append only'); END;

-- Processes that may have calls under way. Each holds a lock while it lives.
CREATE TABLE market_processes (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    started INTEGER NOT NULL
) STRICT;

-- Paid calls under way. A row goes when its call ends.
CREATE TABLE holds (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    process   INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    -- The entry that holds the price; NULL for a trial.
    entry     INTEGER UNIQUE REFERENCES entries (id),
    user      INTEGER NOT NULL,
    token     INTEGER,
    method    TEXT NOT NULL,
    page      INTEGER NOT NULL,
    author    INTEGER,
    version   TEXT NOT NULL,
    price     INTEGER NOT NULL,
    request   TEXT NOT NULL,
    call      BLOB NOT NULL,
    arguments BLOB NOT NULL
) STRICT;

CREATE INDEX user_holds ON holds (user);
CREATE INDEX process_holds ON holds (process);

-- Calls of the last day that succeeded, so that a repeat costs nothing.
CREATE TABLE recent_calls (
    user      INTEGER NOT NULL,
    call      BLOB NOT NULL,
    arguments BLOB NOT NULL,
    at        INTEGER NOT NULL,
    -- The entry that charged it; NULL for a trial.
    entry     INTEGER REFERENCES entries (id),
    PRIMARY KEY (user, call)
) STRICT, WITHOUT ROWID;

CREATE INDEX recent_call_times ON recent_calls (at);

-- One row for each call of a priced method. Never arguments or content.
CREATE TABLE usage (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    -- NULL for a caller without an account.
    user    INTEGER,
    token   INTEGER,
    method  TEXT NOT NULL,
    page    INTEGER NOT NULL,
    author  INTEGER,
    version TEXT NOT NULL,
    -- What the call costs, and what was charged for it.
    price   INTEGER NOT NULL,
    charged INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    ms      INTEGER NOT NULL,
    request TEXT NOT NULL,
    -- The entry that charged it.
    entry   INTEGER UNIQUE REFERENCES entries (id)
) STRICT;

CREATE INDEX usage_times ON usage (at);
CREATE INDEX user_usage ON usage (user, at);
CREATE INDEX token_usage ON usage (token, at) WHERE token IS NOT NULL;
CREATE INDEX author_usage ON usage (author, at);
CREATE INDEX page_usage ON usage (page, at);
CREATE INDEX trial_usage ON usage (user, page) WHERE outcome = 'trial';
CREATE INDEX charged_usage ON usage (user, page) WHERE outcome = 'charged';
CREATE TRIGGER usage_is_kept BEFORE DELETE ON usage
BEGIN SELECT RAISE(ABORT, 'usage is append only'); END;
CREATE TRIGGER usage_is_fixed BEFORE UPDATE ON usage
BEGIN SELECT RAISE(ABORT, 'usage is append only'); END;

-- Payments from outside that were begun, and the entry that booked them.
CREATE TABLE payments (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    provider  TEXT NOT NULL,
    -- Our name for it, which the provider repeats; or the hash of a signed authorisation.
    reference TEXT NOT NULL,
    -- NULL for a payer without an account.
    user      INTEGER,
    amount    INTEGER NOT NULL,
    currency  TEXT NOT NULL,
    -- The call that it pays for; NULL for a top-up.
    call      BLOB,
    -- begun, settling, booked, failed or mismatch.
    state     TEXT NOT NULL,
    -- The provider's name for it: a checkout session, a transaction.
    outside   TEXT NOT NULL DEFAULT '',
    entry     INTEGER REFERENCES entries (id),
    UNIQUE (provider, reference)
) STRICT;

CREATE INDEX user_payments ON payments (user);

-- Events of providers that were dealt with, so that a repeat is recognised.
CREATE TABLE payment_events (
    provider TEXT NOT NULL,
    event    TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (provider, event)
) STRICT, WITHOUT ROWID;
