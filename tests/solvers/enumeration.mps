NAME        
ROWS
 N  Obj     
 G  r0      
 G  r1      
 G  r2      
 G  r3      
 G  r4      
 G  r5      
 G  r6      
 G  r7      
 G  r8      
 G  r9      
 G  r10     
 G  r11     
 G  r12     
 G  r13     
 G  r14     
 G  r15     
 G  r16     
 G  r17     
 G  r18     
 G  r19     
 G  r20     
 E  r21     
 E  r22     
 E  r23     
 E  r24     
COLUMNS
    MARK0000  'MARKER'                 'INTORG'
    c0        Obj       0.00036369616873214538
    c0        r0        -2
    c0        r1        1
    c1        Obj       2.6978671376387032e-05
    c1        r0        -1
    c1        r2        1
    c2        Obj       4.0973523936194694e-06
    c2        r1        -1
    c2        r23       1
    c2        r4        1
    c3        Obj       1.6527635528529095e-06
    c3        r1        -1
    c3        r24       1
    c3        r10       1
    c4        Obj       8.1327023920027243e-05
    c4        r1        -1
    c4        r2        2
    c5        Obj       9.1275557727772178e-05
    c5        r2        -1
    c5        r21       1
    c5        r3        1
    c6        Obj       6.0663577576717991e-05
    c6        r2        -1
    c6        r22       1
    c6        r6        1
    c7        Obj       -0.99992705034390161
    c7        r2        -1
    c8        Obj       0.00035436249914654223
    c8        r3        -2
    c8        r4        1
    c9        Obj       9.3507242378776823e-05
    c9        r3        -1
    c9        r5        1
    c10       Obj       8.1585355412153225e-05
    c10       r4        -1
    c10       r23       1
    c10       r10       1
    c11       Obj       2.7385001701480951e-07
    c11       r4        -1
    c11       r24       1
    c11       r16       1
    c12       Obj       8.5740427658756934e-05
    c12       r4        -1
    c12       r5        2
    c13       Obj       3.3585575305464356e-06
    c13       r5        -1
    c13       r21       1
    c13       r9        1
    c14       Obj       7.2965544642994404e-05
    c14       r5        -1
    c14       r22       1
    c14       r12       1
    c15       Obj       0.00031756556206025588
    c15       r6        -2
    c15       r7        1
    c16       Obj       8.6317892234988658e-05
    c16       r6        -1
    c16       r8        1
    c17       Obj       5.4146122024909172e-05
    c17       r7        -1
    c17       r23       1
    c17       r13       1
    c18       Obj       2.9971189053738479e-05
    c18       r7        -1
    c18       r24       1
    c18       r19       1
    c19       Obj       4.2268722119765848e-05
    c19       r7        -1
    c19       r8        2
    c20       Obj       2.8319671145462965e-06
    c20       r8        -1
    c20       r21       1
    c20       r12       1
    c21       Obj       1.2428327649956395e-05
    c21       r8        -1
    c21       r22       1
    c21       r15       1
    c22       Obj       0.000367062441469363
    c22       r9        -2
    c22       r10       1
    c23       Obj       6.4718951157425011e-05
    c23       r9        -1
    c23       r11       1
    c24       Obj       6.1538511148125392e-05
    c24       r10       -1
    c24       r23       1
    c24       r16       1
    c25       Obj       3.8367755426188347e-05
    c25       r10       -1
    c25       r24       1
    c26       Obj       9.9720993578921111e-05
    c26       r10       -1
    c26       r11       2
    c27       Obj       9.8083533877623007e-05
    c27       r11       -1
    c27       r21       1
    c27       r15       1
    c28       Obj       6.8554198448069468e-05
    c28       r11       -1
    c28       r22       1
    c28       r18       1
    c29       Obj       0.00036504592762678163
    c29       r12       -2
    c29       r13       1
    c30       Obj       6.8844673057094006e-05
    c30       r12       -1
    c30       r14       1
    c31       Obj       3.8892142397910378e-05
    c31       r13       -1
    c31       r23       1
    c31       r19       1
    c32       Obj       1.3509650502241122e-05
    c32       r13       -1
    c32       r24       1
    c33       Obj       7.214883401940817e-05
    c33       r13       -1
    c33       r14       2
    c34       Obj       5.2535432247572592e-05
    c34       r14       -1
    c34       r21       1
    c34       r18       1
    c35       Obj       3.1024187555895565e-05
    c35       r14       -1
    c35       r22       1
    c36       Obj       0.00034858353588317889
    c36       r15       -2
    c36       r16       1
    c37       Obj       8.8948783434900032e-05
    c37       r15       -1
    c37       r17       1
    c38       Obj       9.3404351595624972e-05
    c38       r16       -1
    c38       r23       1
    c39       Obj       3.5779519670907026e-05
    c39       r16       -1
    c39       r17       2
    c40       Obj       5.7152983072976096e-05
    c40       r17       -1
    c40       r21       1
    c41       Obj       3.2186939107594213e-05
    c41       r17       -1
    c41       r22       1
    c42       Obj       0.00035943000301996968
    c42       r18       -2
    c42       r19       1
    c43       Obj       3.3791122550713327e-05
    c43       r18       -1
    c43       r20       1
    c44       Obj       3.9161900052816125e-05
    c44       r19       -1
    c44       r23       1
    c45       Obj       8.9027435200479237e-05
    c45       r19       -1
    c45       r20       2
    c46       Obj       2.2715759353337973e-05
    c46       r20       -1
    c46       r21       1
    MARK0001  'MARKER'                 'INTEND'
RHS
    RHS_V     r0        -1
    RHS_V     r1        -1
    RHS_V     r21       1
    RHS_V     r22       2
    RHS_V     r23       1
    RHS_V     r24       1
BOUNDS
 LI BOUND     c0        0
 LI BOUND     c1        0
 BV BOUND     c2      
 BV BOUND     c3      
 LI BOUND     c4        0
 BV BOUND     c5      
 UI BOUND     c6        2
 LI BOUND     c7        0
 LI BOUND     c8        0
 LI BOUND     c9        0
 BV BOUND     c10     
 BV BOUND     c11     
 LI BOUND     c12       0
 BV BOUND     c13     
 UI BOUND     c14       2
 LI BOUND     c15       0
 LI BOUND     c16       0
 BV BOUND     c17     
 BV BOUND     c18     
 LI BOUND     c19       0
 BV BOUND     c20     
 FX BOUND     c21       0
 LI BOUND     c22       0
 LI BOUND     c23       0
 BV BOUND     c24     
 BV BOUND     c25     
 LI BOUND     c26       0
 BV BOUND     c27     
 UI BOUND     c28       2
 LI BOUND     c29       0
 LI BOUND     c30       0
 BV BOUND     c31     
 BV BOUND     c32     
 LI BOUND     c33       0
 BV BOUND     c34     
 FX BOUND     c35       0
 LI BOUND     c36       0
 LI BOUND     c37       0
 BV BOUND     c38     
 LI BOUND     c39       0
 BV BOUND     c40     
 UI BOUND     c41       2
 LI BOUND     c42       0
 LI BOUND     c43       0
 BV BOUND     c44     
 LI BOUND     c45       0
 BV BOUND     c46     
ENDATA
