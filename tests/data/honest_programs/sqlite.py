import sqlite3
def solve(n):
    db = sqlite3.connect('x.db')
    db.execute('create table t(x)')
    db.executemany('insert into t values (?)', [(i,) for i in range(1, n + 1)])
    r = db.execute('select sum(x * x) from t').fetchone()[0]
    db.close()
    import os
    os.remove('x.db')
    return r
